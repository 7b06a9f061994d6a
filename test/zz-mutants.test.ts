import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { serverMachine } from '../machines/server-machine.js';
import { play, scenarioOf } from './support/scenario.js';

const directory = join(import.meta.dirname, 'scenarios');
const scenarios = readdirSync(directory).flatMap((f) => (JSON.parse(readFileSync(join(directory, f), 'utf8')) as unknown[]).map(scenarioOf));
async function killed(machine: typeof serverMachine): Promise<boolean> {
  for (const s of scenarios) {
    try {
      await play({ ...s, input: { ...s.input, machine } }, () => undefined);
    } catch {
      return true;
    }
  }
  return false;
}
test('mutants', { timeout: 3_000_000 }, async () => {
  const { guards, actions } = serverMachine.implementations as any;
  const survivors: string[] = [];
  for (const name of Object.keys(guards)) for (const value of [true, false]) {
    if (!(await killed(serverMachine.provide({ guards: { [name]: () => value } } as any)))) { survivors.push(`${name}=${value}`); }
  }
  for (const name of Object.keys(actions)) {
    if (!(await killed(serverMachine.provide({ actions: { [name]: () => undefined } } as any)))) survivors.push(`no ${name}`);
  }
  console.log('SURVIVORS', survivors.join('\n'), Object.keys(guards).length, Object.keys(actions).length);
});
