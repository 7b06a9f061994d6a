import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { serverMachine } from '../machines/server-machine.js';
import { play, scenarioOf } from './support/scenario.js';
import { TransitionRecorder, transitionsOf } from './support/transition-recorder.js';

const directory = join(import.meta.dirname, 'scenarios');
const files = readdirSync(directory).filter((name) => name.endsWith('.json'));
const recorder = new TransitionRecorder(serverMachine);

/** Transitions no scenario takes, each with the reason. One that is taken all the same fails the test. */
const untaken: Readonly<Record<string, string>> = {};

describe.each(files)('%s', (file) => {
  const written = JSON.parse(readFileSync(join(directory, file), 'utf8')) as unknown[];
  test.each(written.map(scenarioOf).map((scenario) => [scenario.description, scenario] as const))('%s', async (_, scenario) => {
    await play(scenario, recorder.inspect);
  });
});

describe('the scenarios together', () => {
  test('take every transition of the server machine, but for the listed ones', () => {
    const missed = transitionsOf(serverMachine).filter((name) => !recorder.taken.has(name));
    expect(missed.sort()).toEqual(Object.keys(untaken).sort());
  });

  test('take no transition that the chart does not have', () => {
    const known = new Set(transitionsOf(serverMachine));
    expect([...recorder.taken].filter((name) => !known.has(name))).toEqual([]);
  });
});

describe('the runner', () => {
  const scenario = (changes: object) => ({ description: 'one', phases: [{ expect: { phase: 'idle' } }], ...changes });

  test('takes a scenario that it can read', async () => {
    await play(scenarioOf(scenario({})), () => undefined);
  });

  test('notices an expectation that does not hold', async () => {
    const wrong = scenarioOf(scenario({ phases: [{ expect: { phase: 'ready' } }] }));
    await expect(play(wrong, () => undefined)).rejects.toThrow('one: after phase 1');
  });

  test.each([
    ['a scenario', scenario({ phase: [] }), 'one: unknown key phase'],
    ['the server', scenario({ server: { lifecicle: 'eager' } }), 'one: server: unknown key lifecicle'],
    ['the options', scenario({ options: { page: 1 } }), 'one: options: unknown key page'],
    ['the restart options', scenario({ options: { restart: { backof: 1 } } }), 'one: options.restart: unknown key backof'],
    ['the world', scenario({ world: { open: true } }), 'one: world: unknown key open'],
    ['a phase', scenario({ phases: [{ expects: {} }] }), 'one: phase 1: unknown key expects'],
    ['a step', scenario({ phases: [{ do: [{ sned: {} }], expect: {} }] }), 'one: phase 1: step: unknown key sned'],
    ['an expectation', scenario({ phases: [{ expect: { phrase: 'idle' } }] }), 'one: phase 1: expect: unknown key phrase'],
  ])('refuses a key of %s that nobody reads', (_what, written, message) => {
    expect(() => scenarioOf(written)).toThrow(message);
  });

  test.each([
    ['an event', { type: 'server.demnd' }, 'unknown event "server.demnd"'],
    ['a field of an event', { type: 'server.demand', from: 'call' }, 'event: unknown key from'],
    ['a gate', { type: 'gates.changed', shut: 'closed' }, 'unknown gate "closed"'],
    ['a code', { type: 'transport.lost', code: 'LOST' }, 'unknown code "LOST"'],
  ])('refuses %s that does not exist', async (_what, event, message) => {
    const wrong = scenarioOf(scenario({ phases: [{ do: [{ send: event }], expect: {} }] }));
    await expect(play(wrong, () => undefined)).rejects.toThrow(message);
  });

  test.each([
    ['has no description', { phases: [] }],
    ['has no phases', { description: 'one', phases: [] }],
    ['is no object', 'one'],
  ])('refuses a scenario that %s', (_what, written) => {
    expect(() => scenarioOf(written)).toThrow();
  });
});
