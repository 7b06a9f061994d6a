import { modelText } from '../machines/model-text.js';
import { cutUtf8 } from '../machines/utf8.js';
import { invalid, type JsonObject } from './gateway-request.js';

export interface PromptArgument {
  readonly name: string;
  readonly description?: string;
  readonly required: boolean;
}

const DESCRIPTION_BYTES = 256;

/** The arguments a prompt says it takes; none where it says nothing readable. */
export function promptArguments(definition: { readonly [key: string]: unknown }): readonly PromptArgument[] {
  const list: unknown = definition['arguments'];
  if (!Array.isArray(list)) return [];
  return list.flatMap((one: unknown) => {
    if (typeof one !== 'object' || one === null || !('name' in one) || typeof one.name !== 'string') return [];
    const required = 'required' in one && one.required === true;
    if (!('description' in one) || typeof one.description !== 'string') return [{ name: one.name, required }];
    return [{ name: one.name, description: cutUtf8(modelText(one.description).text, DESCRIPTION_BYTES), required }];
  });
}

/** The arguments to send: known, strings, none that is required missing. `INVALID_ARGUMENTS` names the one at fault. */
export function checkPromptArguments(definition: { readonly [key: string]: unknown }, given: JsonObject): Record<string, string> {
  const known = promptArguments(definition);
  const names = known.map(({ name }) => name);
  const checked = new Map<string, string>();
  for (const [name, value] of Object.entries(given)) {
    const place = `"args.${cutUtf8(name, 64)}"`;
    if (!names.includes(name)) throw invalid(`${place} is no argument of this prompt`, `Arguments: ${names.join(', ')}`);
    if (typeof value !== 'string') throw invalid(`${place} is no string`);
    checked.set(name, value);
  }
  const missing = known.find(({ name, required }) => required && !checked.has(name));
  if (missing !== undefined) throw invalid(`"args.${missing.name}" is required`);
  return Object.fromEntries(checked);
}
