const PREFIX = 'mcp__';
const LENGTH_MAX = 64;
const SERVER_LENGTH_MAX = 32;
const DIGEST_LENGTH = 16;
const PLAIN = /^[A-Za-z0-9_-]+$/;
/** How every mapped name ends. A plain name may not, or a server could spell out the mapped name of another tool. */
const MAPPED = /_[0-9a-f]{16}$/;

/**
 * The name a model calls a tool by: `mcp__<server>__<tool>`, at most 64 characters of `[A-Za-z0-9_-]`, the same in every
 * run and never the same for two pairs. Pairs that do not fit, or whose parts would join ambiguously at `_`, end in a digest
 * of the pair instead; such a name cannot be read back, the catalogue keeps the original. `digest` gives at least 16 lower-case
 * hex digits and resists collisions.
 */
export function fullName(server: string, tool: string, digest: (text: string) => string): string {
  const plain = `${PREFIX}${server}__${tool}`;
  if (plain.length <= LENGTH_MAX && PLAIN.test(plain) && joinsClearly(server, tool) && !MAPPED.test(plain)) return plain;
  // A list as JSON: no two pairs have the same text, whatever stands in their names.
  const mark = `_${digest(JSON.stringify([server, tool])).slice(0, DIGEST_LENGTH)}`;
  // The whole id of a server stays in the name, so that one server cannot aim at the names of another.
  const head = `${PREFIX}${slug(server, SERVER_LENGTH_MAX)}__`;
  return `${head}${slug(tool, LENGTH_MAX - head.length - mark.length)}${mark}`;
}

/** Whether the first `__` after the prefix is the one between the parts. */
function joinsClearly(server: string, tool: string): boolean {
  return server !== '' && tool !== '' && !server.includes('__') && !server.endsWith('_') && !tool.startsWith('_');
}

function slug(text: string, lengthMax: number): string {
  return text.slice(0, lengthMax).replace(/[^A-Za-z0-9_-]/g, '-');
}
