import { describe, expect, test } from 'vitest';
import { configVerdict, isCountedLayer, type LayerVerdict } from '../machines/config-verdict.js';

const layers = (user: LayerVerdict['state'], workspace: LayerVerdict['state']): readonly LayerVerdict[] => [
  { layer: 'user', state: user },
  { layer: 'workspace', state: workspace },
  { layer: 'workspace-override', state: 'absent' },
];

describe('a configuration', () => {
  test.each([
    ['a first load of good layers', layers('valid', 'valid'), true, false, 'valid'],
    ['a first load of no files at all', layers('absent', 'absent'), true, false, 'valid'],
    ['a first load with a bad user file', layers('rejected', 'valid'), true, false, 'degraded'],
    ['a first load with a bad file of a trusted workspace', layers('valid', 'rejected'), true, false, 'degraded'],
    ['a first load with a bad file of an untrusted workspace', layers('valid', 'rejected'), false, false, 'valid'],
    ['a reload of good layers', layers('valid', 'valid'), true, true, 'valid'],
    ['a reload with a bad user file', layers('rejected', 'valid'), true, true, 'rejected'],
    ['a reload with a bad user file, workspace untrusted', layers('rejected', 'valid'), false, true, 'rejected'],
    ['a reload with a bad file of a trusted workspace', layers('valid', 'rejected'), true, true, 'rejected'],
    ['a reload with a bad file of an untrusted workspace', layers('valid', 'rejected'), false, true, 'valid'],
  ] as const)('after %s', (_what, readings, isTrusted, hasRuntime, verdict) => {
    expect(configVerdict(readings, { isTrusted, hasRuntime })).toBe(verdict);
  });

  test('counts a bad override file of a trusted workspace', () => {
    const readings: readonly LayerVerdict[] = [{ layer: 'workspace-override', state: 'rejected' }];
    expect(configVerdict(readings, { isTrusted: true, hasRuntime: true })).toBe('rejected');
  });
});

test('layers of the user and of plugins count without trust, those of a workspace do not', () => {
  const counted = (isTrusted: boolean) =>
    (['user', 'plugin:kit', 'workspace', 'workspace-override'] as const).map((layer) => isCountedLayer(layer, isTrusted));
  expect(counted(false)).toEqual([true, true, false, false]);
  expect(counted(true)).toEqual([true, true, true, true]);
});
