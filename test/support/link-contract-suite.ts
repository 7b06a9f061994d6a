import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Column, type ContractCase, codeOf, type ServerKind, type Transport, type Verdict } from './link-contract.js';
import { calls } from './link-contract-calls.js';
import { endings } from './link-contract-endings.js';
import { Stand } from './link-contract-stand.js';
import { supports } from './link-contract-supports.js';

export const cases: readonly ContractCase[] = [...calls, ...endings];

/** The older HTTP+SSE is spoken by servers of the older SDK alone. */
const kinds: Readonly<Record<Transport, readonly ServerKind[]>> = {
  stdio: ['legacy', 'dual', 'modern'],
  http: ['legacy', 'dual', 'modern'],
  sse: ['legacy'],
};

/** What is wrong with the table beside these cases: a case without a row, a row without a case. */
export function staleRows(titles: readonly string[], table: Readonly<Record<string, unknown>>): readonly string[] {
  const missing = titles.filter((title) => !Object.hasOwn(table, title));
  return [...missing, ...Object.keys(table).filter((title) => !titles.includes(title))];
}

/** Holds a case to what the table says of it: also when it is said to fail, and with which code. */
export async function hold(run: () => Promise<void>, verdict: Verdict | undefined): Promise<void> {
  if (verdict === 'yes') await run();
  else expect(await codeOf(run()), 'the table of what an engine lacks is stale').toBe(verdict ?? 'a row of the table');
}

/** Runs every case on both engines, on each kind of server that the transport has. */
export function describeContract(transport: Transport): void {
  for (const engine of ['client', 'sdk'] as const) {
    for (const kind of kinds[transport]) {
      const column: Column = `${engine} on ${kind}`;
      describe.each([
        ['calls', calls],
        ['endings', endings],
      ])(`${column} over ${transport}: %s`, (_group, group) => {
        let stand: Stand;
        beforeAll(() => {
          stand = new Stand(engine, kind, transport);
        });
        afterAll(() => stand.close());

        for (const { title, on = 'shared', transports, run } of group) {
          if (transports?.includes(transport) === false) continue;
          test(title, () => hold(async () => run(await stand.rig(on)), supports[title]?.[column]));
        }
      });
    }
  }
}
