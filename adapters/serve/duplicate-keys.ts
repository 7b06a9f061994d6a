/** A string with its quotes, or what opens, closes or parts the members of a container. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/g;

/**
 * Whether an object anywhere in a JSON text has a key twice, however the two are written: readers do not agree on which of
 * them counts. The text has been parsed before, so nothing else of it is checked; one linear pass.
 */
export function hasDuplicateKey(text: string): boolean {
  /** The keys of each container that is open; null for a list. */
  const open: (Set<string> | null)[] = [];
  let keys: Set<string> | null = null;
  let isKeyNext = false;
  for (const [token] of text.matchAll(TOKEN)) {
    if (token.startsWith('"')) {
      if (!isKeyNext || keys === null) continue;
      const key = JSON.parse(token) as string;
      if (keys.has(key)) return true;
      keys.add(key);
      isKeyNext = false;
      continue;
    }
    if (token === '{' || token === '[') open.push(token === '{' ? new Set() : null);
    if (token === '}' || token === ']') open.pop();
    keys = open.at(-1) ?? null;
    isKeyNext = token === '{' || token === ',';
  }
  return false;
}
