import { describe, expect, test } from 'vitest';
import { supervisorError } from '../actors/errors.js';
import { cases, hold, staleRows } from './support/link-contract-suite.js';
import { supports } from './support/link-contract-supports.js';

const columns = ['client', 'sdk'].flatMap((engine) => ['legacy', 'dual', 'modern'].map((kind) => `${engine} on ${kind}`));

describe('the table of what an engine lacks', () => {
  test('has a row for every case, no row for another, and every column in each', () => {
    const titles = cases.map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
    expect(staleRows(titles, supports)).toEqual([]);
    for (const row of Object.values(supports)) expect(Object.keys(row).sort()).toEqual([...columns].sort());
  });

  test('is stale when a case has no row or a row has no case', () => {
    expect(staleRows(['there', 'new'], { there: 1, gone: 1 })).toEqual(['new', 'gone']);
  });

  const works = async (): Promise<void> => undefined;
  const lacks = async (): Promise<void> => {
    throw supervisorError('ERA_NEGOTIATION_FAILED', 'no');
  };

  test.each([
    ['a case that is said to fail works', works, 'ERA_NEGOTIATION_FAILED'],
    ['a case fails with another code', lacks, 'SERVER_ERROR'],
    ['a case that is said to work fails', lacks, 'yes'],
    ['a case works that has no row', works, undefined],
    ['a case fails that has no row', lacks, undefined],
  ] as const)('fails the suite when %s', async (_what, run, verdict) => {
    await expect(hold(run, verdict)).rejects.toThrow();
  });

  test('is content with a case that fails with the code it says', async () => {
    await hold(works, 'yes');
    await hold(lacks, 'ERA_NEGOTIATION_FAILED');
  });
});
