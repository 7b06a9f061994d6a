import { isBody } from './message.js';

/** One argument of a tool that its calls repeat in a header. */
export interface HeaderDeclaration {
  /** Keys of the argument, outermost first. */
  readonly path: readonly string[];
  /** What follows `Mcp-Param-`. */
  readonly header: string;
}

const KEY = 'x-mcp-header';
/** RFC 9110 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
/** What a schema is looked through; one with more is left to the verification of the list, and declares nothing here. */
const NODES_MAX = 4_000;
/** Keywords with subschemas that no argument has a fixed place in; under the second ones they stand by name. */
const BRANCHES = [
  ...['items', 'prefixItems', 'contains', 'additionalProperties', 'unevaluatedProperties', 'unevaluatedItems'],
  ...['propertyNames', 'oneOf', 'anyOf', 'allOf', 'not', 'if', 'then', 'else'],
];
const NAMED_BRANCHES = ['patternProperties', 'dependentSchemas', '$defs', 'definitions'];

interface Place {
  readonly schema: unknown;
  /** `null` where a declaration is not allowed. */
  readonly path: readonly string[] | null;
}

/**
 * The header declarations of an input schema (2026-07-28, transports/streamable-http, "Schema Extension"); `null` when one of
 * them is not allowed: its name is no token or stands twice, its property is of another type, or has no fixed place. Does not
 * recurse, follows no reference.
 */
export function readDeclarations(inputSchema: unknown): readonly HeaderDeclaration[] | null {
  const found: HeaderDeclaration[] = [];
  const names = new Set<string>();
  const places: Place[] = [{ schema: inputSchema, path: [] }];
  for (let at = 0; at < places.length; at += 1) {
    if (at > NODES_MAX) return [];
    const { schema, path } = places[at] as Place;
    if (!isBody(schema)) continue;
    if (Object.hasOwn(schema, KEY)) {
      const header = schema[KEY];
      const isAllowed = path !== null && path.length > 0 && typeof header === 'string' && TOKEN.test(header);
      if (!isAllowed || !TYPES.has(schema['type']) || names.has(header.toLowerCase())) return null;
      names.add(header.toLowerCase());
      found.push({ path, header });
    }
    addSubschemas(places, schema, path);
  }
  return found;
}

function addSubschemas(places: Place[], schema: { readonly [key: string]: unknown }, path: Place['path']): void {
  const { properties } = schema;
  if (isBody(properties)) {
    for (const [key, child] of Object.entries(properties))
      places.push({ schema: child, path: path === null ? null : [...path, key] });
  }
  for (const keyword of BRANCHES) {
    const branch = schema[keyword];
    for (const child of Array.isArray(branch) ? (branch as unknown[]) : [branch]) {
      if (isBody(child)) places.push({ schema: child, path: null });
    }
  }
  for (const keyword of NAMED_BRANCHES) {
    const branches = schema[keyword];
    for (const child of isBody(branches) ? Object.values(branches) : []) places.push({ schema: child, path: null });
  }
}
