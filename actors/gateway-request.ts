import { overBudget } from '../machines/json-budget.js';
import { cutUtf8 } from '../machines/utf8.js';
import { supervisorError } from './errors.js';
import type { Json } from './ports.js';

export const ACTIONS = ['search', 'describe', 'call', 'status', 'resources', 'read', 'prompts', 'prompt'] as const;
type Action = (typeof ACTIONS)[number];

const TEXT_FIELDS = ['query', 'regex', 'server', 'name', 'uri', 'cursor'] as const;
type TextField = (typeof TEXT_FIELDS)[number];

export type JsonObject = { readonly [key: string]: Json };

/** A request of a model, checked field by field. */
export interface GatewayRequest extends Readonly<Partial<Record<TextField, string>>> {
  readonly action: Action;
  readonly args?: JsonObject;
  readonly limit?: number;
}

const FIELDS: ReadonlySet<string> = new Set(['action', ...TEXT_FIELDS, 'args', 'limit']);
const TEXT_UNITS_MAX = 16_384;
const ARGS_BUDGET = { depthMax: 128, nodesMax: 100_000, unitsMax: 16 * 1_024 * 1_024 };

/** Reads what a model sent. `INVALID_ARGUMENTS` names the field that is wrong, missing or unknown: nothing is guessed. */
export function parseGatewayRequest(raw: unknown): GatewayRequest {
  if (!isObject(raw)) throw invalid('the arguments are not an object', `Give {"action": …}; actions: ${ACTIONS.join(', ')}`);
  for (const key of Object.keys(raw)) {
    if (!FIELDS.has(key)) throw invalid(`"${cutUtf8(key, 64)}" is no field`, `Fields: ${[...FIELDS].join(', ')}`);
  }
  const action = ACTIONS.find((known) => known === raw['action']);
  if (action === undefined) throw invalid(`"action" is none that exists`, `Actions: ${ACTIONS.join(', ')}`);
  const texts: Partial<Record<TextField, string>> = {};
  for (const field of TEXT_FIELDS) {
    const value = raw[field];
    if (isAbsent(value)) continue;
    if (typeof value !== 'string') throw invalid(`"${field}" is no string`);
    if (value.length > TEXT_UNITS_MAX) throw invalid(`"${field}" is longer than ${TEXT_UNITS_MAX} characters`);
    texts[field] = value;
  }
  const args = argsOf(raw['args']);
  const limit = limitOf(raw['limit']);
  return { action, ...texts, ...(args === undefined ? {} : { args }), ...(limit === undefined ? {} : { limit }) };
}

/** The text of a field an action cannot do without. */
export function needText(request: GatewayRequest, field: TextField): string {
  const value = request[field];
  if (value === undefined || value === '') throw invalid(`"${field}" is missing`, `The action "${request.action}" needs it.`);
  return value;
}

export const invalid = (message: string, hint?: string): Error =>
  supervisorError('INVALID_ARGUMENTS', message, hint === undefined ? {} : { hint });

function argsOf(value: unknown): JsonObject | undefined {
  if (isAbsent(value) || value === '') return undefined;
  const args: unknown = typeof value === 'string' ? parsed(value) : value;
  if (!isObject(args)) throw invalid('"args" is no object', 'Give an object, or a JSON string of one.');
  const fault = overBudget(args, ARGS_BUDGET);
  if (fault !== null) throw invalid(`"args" has a value that is too large: ${fault}`);
  return args as JsonObject;
}

function parsed(text: string): unknown {
  if (text.length > ARGS_BUDGET.unitsMax) throw invalid('"args" is too long');
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('"args" is a string that is no JSON', 'Give an object, or a JSON string of one.');
  }
}

function limitOf(value: unknown): number | undefined {
  if (isAbsent(value)) return undefined;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) throw invalid('"limit" is no whole number from 1');
  return value;
}

/** Models write null for what they leave out. */
const isAbsent = (value: unknown): value is null | undefined => value === undefined || value === null;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
