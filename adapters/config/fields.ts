import type { PolicyRule, PolicyVerdict } from '../../actors/ports.js';
import { type ConfigNode, type Field } from './document.js';
import { type Faults, joinKey } from './faults.js';

/** Readers of one value each: what has the wrong type is told to `faults` and read as `undefined`. Values are never quoted. */

/** What a Node timer can hold. */
export const MS_MAX = 2 ** 31 - 1;

export function objectOf({ key, value }: Field, faults: Faults): readonly Field[] | undefined {
  if (value.kind === 'object') return value.fields;
  wrongType(value, key, 'an object', faults);
  return undefined;
}

export function stringOf({ key, value }: Field, faults: Faults): string | undefined {
  if (value.kind === 'string') return value.value;
  wrongType(value, key, 'a string', faults);
  return undefined;
}

export function booleanOf({ key, value }: Field, faults: Faults): boolean | undefined {
  if (value.kind === 'boolean') return value.value;
  wrongType(value, key, 'true or false', faults);
  return undefined;
}

export function integerOf({ key, value }: Field, bounds: { min: number; max: number }, faults: Faults): number | undefined {
  const expected = `a whole number from ${bounds.min} to ${bounds.max}`;
  if (value.kind !== 'number') {
    wrongType(value, key, expected, faults);
    return undefined;
  }
  if (Number.isInteger(value.value) && value.value >= bounds.min && value.value <= bounds.max) return value.value;
  faults.error('CONFIG_INVALID', value.at, key, `expected ${expected}`);
  return undefined;
}

export function wordOf<Word extends string>(field: Field, words: readonly Word[], faults: Faults): Word | undefined {
  const text = stringOf(field, faults);
  const word = words.find((candidate) => candidate === text);
  if (text !== undefined && word === undefined) {
    faults.error('CONFIG_INVALID', field.value.at, field.key, `expected one of ${words.join(', ')}`);
  }
  return word;
}

const VERDICTS: readonly PolicyVerdict[] = ['allow', 'ask', 'deny'];
export const verdictOf = (field: Field, faults: Faults): PolicyVerdict | undefined => wordOf(field, VERDICTS, faults);

/** `undefined` when any item is no string. */
export function stringsOf({ key, value }: Field, faults: Faults): readonly TextAt[] | undefined {
  if (value.kind !== 'array') {
    wrongType(value, key, 'a list of strings', faults);
    return undefined;
  }
  const texts: TextAt[] = [];
  for (const [index, item] of value.items.entries()) {
    if (item.kind === 'string') texts.push({ text: item.value, at: item.at, key: joinKey(key, index) });
    else wrongType(item, joinKey(key, index), 'a string', faults);
  }
  return texts.length === value.items.length ? texts : undefined;
}

/** One text of a file and where it stands. */
export interface TextAt {
  readonly text: string;
  readonly at: number;
  readonly key: string;
}

export const textAt = ({ key, value }: Field, text: string): TextAt => ({ text, at: value.at, key });

function wrongType(node: ConfigNode, key: string, expected: string, faults: Faults): void {
  const article = node.kind === 'array' || node.kind === 'object' ? 'an ' : node.kind === 'null' ? '' : 'a ';
  faults.error('CONFIG_INVALID', node.at, key, `expected ${expected}, found ${article}${node.kind}`);
}

/** Where a rule stands; nothing for what the host gives in code. */
export function ruleAt({ nameAt }: Field, faults: Faults): Pick<PolicyRule, 'place'> {
  return faults.hasLines ? { place: { file: faults.file, line: faults.lineOf(nameAt) } } : {};
}
