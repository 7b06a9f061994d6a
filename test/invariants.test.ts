import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { invariants } from '../properties/invariants.js';
import { Checks } from '../properties/kit/index.js';

const kit = join(import.meta.dirname, '../properties/kit');
const sources = async (): Promise<readonly (readonly [file: string, text: string])[]> => {
  const files = (await readdir(kit)).filter((file) => file.endsWith('.ts'));
  return Promise.all(files.map(async (file) => [file, await readFile(join(kit, file), 'utf8')] as const));
};

describe('the invariants', () => {
  test('each has an id of its own and says what holds in one sentence', () => {
    expect(new Set(invariants.map(({ id }) => id)).size).toBe(invariants.length);
    expect(invariants.length).toBeGreaterThanOrEqual(22);
    for (const { id, sentence } of invariants) {
      expect(id).toMatch(/^[a-z]+(-[a-z]+)*$/);
      expect(sentence).toMatch(/^[A-Z][^.]+\.$/);
    }
  });

  // That each is judged, and how often, is asked in properties/simulated-world.property.ts.
  test('one that does not hold is told with its id, the first of them, and every judgement is counted', () => {
    const checks = new Checks();
    checks.holds('own-reply', true, () => 'all is well');
    checks.holds('deadline', false, () => 'it is late');
    checks.holds('own-reply', false, () => 'that comes too late to be told');
    expect(checks.broken).toMatchObject({ invariant: 'deadline', message: 'deadline: it is late' });
    expect([checks.counts.get('own-reply'), checks.counts.get('deadline'), checks.counts.get('woken')]).toEqual([2, 1, 0]);
  });
});

describe('the kit', () => {
  test('runs the product itself, and has no machine, queue or settling of its own', async () => {
    const all = await sources();
    const imports = all.flatMap(([, text]) => [...text.matchAll(/from '([^']+)'/g)].map(([, from = '']) => from));
    expect(imports).toEqual(expect.arrayContaining(['../../actors/supervisor.js', '../../machines/server-view.js']));
    expect(imports.filter((from) => /^(xstate|rxjs|p-queue|\.\.\/\.\.\/test)/.test(from))).toEqual([]);
    const own =
      /\b(createMachine|createActor|fromPromise|fromCallback|setup\(\{|new PQueue|new CallTable|new OpenCall|slotPool\()/;
    expect(all.filter(([, text]) => own.test(text)).map(([file]) => file)).toEqual([]);
  });

  test('draws no chance and reads no clock but its own', async () => {
    const ambient = /\bMath\.random\b|\bDate\.now\b|\bnew Date\(\)|\bperformance\.|[^.]\bsetTimeout\((?!fire|\(\))/;
    const lines = (await sources()).flatMap(([file, text]) =>
      text.split('\n').flatMap((line) => (ambient.test(line) ? [`${file}: ${line.trim()}`] : [])),
    );
    expect(lines).toEqual([]);
  });
});
