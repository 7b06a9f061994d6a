import { utf8Bytes } from './utf8.js';

const DEPTH_MAX = 64;
const SUBSCHEMAS_MAX = 2_000;
const BYTES_MAX = 256 * 1_024;
const TOO_LARGE = `is larger than ${BYTES_MAX} bytes`;

/** What stands at a place of a schema: a schema, a map of schemas, a list of them, plain data, or a keyword we do not know. */
type Role = 'schema' | 'map' | 'list' | 'data' | 'other';

interface Place {
  readonly value: unknown;
  readonly role: Role;
  readonly depth: number;
}

const ROLES: ReadonlyMap<string, Role> = new Map<string, Role>([
  ...['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'].map((key) => [key, 'map'] as const),
  ...['allOf', 'anyOf', 'oneOf', 'prefixItems'].map((key) => [key, 'list'] as const),
  ...['not', 'if', 'then', 'else', 'items', 'additionalItems', 'contains', 'propertyNames'].map(
    (key) => [key, 'schema'] as const,
  ),
  ...['additionalProperties', 'unevaluatedItems', 'unevaluatedProperties', 'contentSchema'].map(
    (key) => [key, 'schema'] as const,
  ),
]);
const EXAMPLES = new Set(['const', 'default', 'enum', 'example', 'examples']);
const REFERENCES = new Set(['$ref', '$dynamicRef', '$recursiveRef']);
const TYPES: ReadonlySet<unknown> = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']);
/** A scheme or an authority: followed, it would leave the document. */
const LEADS_OUT = /^\s*(?:[A-Za-z][A-Za-z0-9+.-]*:|[\\/]{2})/;

/**
 * Says why a schema cannot be used, `null` when it can: nested too deep, too many subschemas, too large, a reference that
 * leaves the document; with `mustDescribe: 'object'` also whatever is no schema of an object. Never follows a reference,
 * is not recursive, and stops at the first bound it meets.
 */
export function schemaFault(schema: unknown, mustDescribe: 'object' | 'anything'): string | null {
  const isStrict = mustDescribe === 'object';
  if (isStrict) {
    if (!isRecord(schema)) return 'is no object';
    if (!admitsObjects(schema['type'])) return 'describes no object';
  }
  const walked = walk(schema, isStrict);
  if (typeof walked === 'string') return walked;
  // As JSON a character takes six bytes at most and a value some thirty; most schemas are so small that nothing has to be written.
  const isSmall = walked.units * 6 + walked.values * 32 <= BYTES_MAX;
  return isSmall || utf8Bytes(JSON.stringify(schema)) <= BYTES_MAX ? null : TOO_LARGE;
}

/** Counts characters and values, or says what is wrong. */
function walk(schema: unknown, isStrict: boolean): string | { readonly units: number; readonly values: number } {
  const open: Place[] = [{ value: schema, role: 'schema', depth: 1 }];
  let subschemas = 0;
  let units = 0;
  let values = 1;
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { value, role, depth } = place;
    if (typeof value === 'string') units += value.length;
    const fault = isStrict ? shapeFault(value, role) : null;
    if (fault !== null) return fault;
    if (typeof value === 'object' && value !== null) {
      if (depth > DEPTH_MAX) return `is nested deeper than ${DEPTH_MAX}`;
      if (isCounted(role) && !Array.isArray(value)) subschemas += 1;
      if (subschemas > SUBSCHEMAS_MAX) return `has more than ${SUBSCHEMAS_MAX} subschemas`;
      const keys = Array.isArray(value) ? [] : Object.keys(value);
      values += Array.isArray(value) ? value.length : keys.length;
      // A value takes a character at least: too many are seen before they are put on the pile.
      if (values > BYTES_MAX) return TOO_LARGE;
      for (const key of keys) units += key.length;
      if (openChildren(place, value, open)) return 'refers to another document';
    }
    if (units > BYTES_MAX) return TOO_LARGE;
  }
  return { units, values };
}

/** Puts what stands below a place on the pile; true when a reference there leads out of the document. */
function openChildren({ role, depth }: Place, value: object, open: Place[]): boolean {
  if (Array.isArray(value)) {
    const items: Role = role === 'list' ? 'schema' : role;
    for (const child of value as readonly unknown[]) open.push({ value: child, role: items, depth: depth + 1 });
    return false;
  }
  for (const [key, child] of Object.entries(value)) {
    if (role !== 'data' && REFERENCES.has(key) && typeof child === 'string' && LEADS_OUT.test(child)) return true;
    const below = roleOf(role, key, child);
    // Depth counts schemas within schemas; the maps and lists that hold them are no level of their own.
    open.push({ value: child, role: below, depth: below === 'map' || below === 'list' ? depth : depth + 1 });
  }
  return false;
}

function roleOf(parent: Role, key: string, child: unknown): Role {
  if (parent === 'map') return 'schema';
  // A keyword set to null counts as absent, as several generators write it.
  if (parent === 'data' || child === null || EXAMPLES.has(key)) return 'data';
  if (parent === 'other') return 'other';
  // The older spelling of `prefixItems`.
  if (key === 'items' && Array.isArray(child)) return 'list';
  return ROLES.get(key) ?? 'other';
}

const isCounted = (role: Role): boolean => role === 'schema' || role === 'other';

function shapeFault(value: unknown, role: Role): string | null {
  if (role === 'map') return isRecord(value) ? null : 'has properties or definitions that are no object';
  if (role === 'list') return Array.isArray(value) ? null : 'has a list of schemas that is no list';
  if (role !== 'schema' || typeof value === 'boolean') return null;
  if (!isRecord(value)) return 'has a subschema that is neither an object nor a boolean';
  return isTypeKnown(value['type']) ? null : 'names a type that does not exist';
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const admitsObjects = (type: unknown): boolean =>
  type === undefined || type === null || type === 'object' || (Array.isArray(type) && type.includes('object'));

const isTypeKnown = (type: unknown): boolean =>
  type === undefined || type === null || (Array.isArray(type) ? type.every((one) => TYPES.has(one)) : TYPES.has(type));
