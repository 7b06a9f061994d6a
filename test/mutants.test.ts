import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readMutants, root, withBug } from '../properties/mutants/mutants.js';
import { plantMutant } from '../properties/mutants/plant.js';

const mutants = readMutants();
const sourceOf = (file: string): string => readFileSync(join(root, file), 'utf8');

describe('the planted bugs', () => {
  test('are enough of them, each with a name of its own', () => {
    expect(mutants.length).toBeGreaterThanOrEqual(20);
    expect(new Set(mutants.map(({ id }) => id)).size).toBe(mutants.length);
  });

  test.each(mutants.map((mutant) => [mutant.id, mutant] as const))('%s still applies, and has its properties', (_id, mutant) => {
    const { file, killers } = mutant;
    const source = sourceOf(file);
    expect(withBug(mutant, source)).not.toBe(source);
    expect(killers.length).toBeGreaterThan(0);
    for (const killer of killers) expect(existsSync(join(root, killer)), killer).toBe(true);
  });

  const [mutant] = mutants;
  if (mutant === undefined) throw new Error('no bug is planted');

  test('are refused where what they replace is not there, or is there twice', () => {
    expect(() => withBug(mutant, 'another source')).toThrow(`the mutant "${mutant.id}" does not apply`);
    expect(() => withBug(mutant, mutant.find + mutant.find)).toThrow(mutant.file);
    expect(() => withBug({ ...mutant, replace: mutant.find }, sourceOf(mutant.file))).toThrow('does not apply');
  });

  test('are refused by a name that none has', () => {
    expect(() => plantMutant('no such bug')).toThrow('no mutant has the id "no such bug"');
  });
});
