import { actNames, type Choice } from './acts.js';
import type { ScheduleResult } from './schedule.js';

/** A schedule as a file: what it starts from follows from the seed, what is done stands there. */
export interface ScheduleScenario {
  readonly description: string;
  readonly seed: number;
  readonly choices: readonly Choice[];
}

/** The JSON text of a schedule, one choice a line. */
export function scenarioText(description: string, { seed, choices }: Pick<ScheduleResult, 'seed' | 'choices'>): string {
  const lines = choices.map(({ act, x, y }) => `    ${JSON.stringify([act, x, y])}`);
  const head = `{\n  "description": ${JSON.stringify(description)},\n  "seed": ${seed},\n  "choices": [`;
  return lines.length === 0 ? `${head}]\n}\n` : `${head}\n${lines.join(',\n')}\n  ]\n}\n`;
}

/** Reads what `scenarioText` wrote. Throws a `TypeError` that names the place for anything else. */
export function scenarioOf(written: unknown): ScheduleScenario {
  if (typeof written !== 'object' || written === null) throw new TypeError('A scenario is an object');
  const { description, seed, choices } = written as { readonly [key: string]: unknown };
  if (typeof description !== 'string') throw new TypeError('A scenario has a "description"');
  if (!Number.isSafeInteger(seed)) throw new TypeError(`${description}: "seed" is no whole number`);
  if (!Array.isArray(choices)) throw new TypeError(`${description}: "choices" is no list`);
  return {
    description,
    seed: seed as number,
    choices: choices.map((choice: unknown, at) => choiceOf(choice, `${description}: choice ${at}`)),
  };
}

function choiceOf(written: unknown, where: string): Choice {
  if (!Array.isArray(written)) throw new TypeError(`${where} is no list`);
  const [name, x, y] = written as readonly unknown[];
  const act = actNames.find((one) => one === name);
  if (act === undefined) throw new TypeError(`${where}: nobody knows how to ${JSON.stringify(name)}`);
  if (!Number.isSafeInteger(x) || !Number.isSafeInteger(y)) throw new TypeError(`${where} has no two whole numbers`);
  return { act, x: x as number, y: y as number };
}
