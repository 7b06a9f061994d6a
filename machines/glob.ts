/**
 * Whether a glob stands for a whole name, case-sensitive: `*` is any run of characters, `?` exactly one, everything else is
 * itself. One step a character of the name whatever the glob, no backtracking.
 */
export function matchesGlob(glob: string, name: string): boolean {
  if (glob === '*') return true;
  if (!glob.includes('*') && !glob.includes('?')) return glob === name;
  const { loops, wild, literals, accept } = compile(glob);
  // Bit i is set while the first i characters of the glob, stars apart, have been matched.
  let state = 1n;
  for (const character of name) {
    state = ((state & (literals.get(character) ?? wild)) << 1n) | (state & loops);
    if (state === 0n) return false;
  }
  return (state & accept) !== 0n;
}

interface Compiled {
  /** Positions a star stands at: they hold whatever comes. */
  readonly loops: bigint;
  /** Positions any character leads on from. */
  readonly wild: bigint;
  /** Positions a given character leads on from, `wild` included. */
  readonly literals: ReadonlyMap<string, bigint>;
  readonly accept: bigint;
}

function compile(glob: string): Compiled {
  let position = 1n;
  let loops = 0n;
  let wild = 0n;
  const exact = new Map<string, bigint>();
  for (const character of glob) {
    if (character === '*') {
      loops |= position;
      continue;
    }
    if (character === '?') wild |= position;
    else exact.set(character, (exact.get(character) ?? 0n) | position);
    position <<= 1n;
  }
  const literals = new Map<string, bigint>();
  for (const [character, positions] of exact) literals.set(character, positions | wild);
  return { loops, wild, literals, accept: position };
}
