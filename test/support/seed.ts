import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Of every property in this run. */
    fcSeed: number;
    /** Cases a property tries; 0 leaves it to fast-check and to the property. */
    fcRuns: number;
  }
}

/** Chooses one seed for the whole run and prints it; `FC_SEED=… npm test` repeats the run. */
export default function chooseSeed(project: TestProject): void {
  const { env } = process;
  const given = wholeNumber('FC_SEED', env['FC_SEED']);
  if (given === undefined && env['CI'] !== undefined && env['CI'] !== '') {
    throw new Error('CI needs FC_SEED: a red property must be repeatable from what was printed.');
  }
  const fcSeed = given ?? Date.now() | 0;
  const fcRuns = wholeNumber('FC_RUNS', env['FC_RUNS']) ?? 0;
  console.log(`properties: FC_SEED=${fcSeed}${fcRuns > 0 ? ` FC_RUNS=${fcRuns}` : ''}`);
  project.provide('fcSeed', fcSeed);
  project.provide('fcRuns', fcRuns);
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error(`${name} must be a whole number, not ${JSON.stringify(text)}.`);
  return value;
}
