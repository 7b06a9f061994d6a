/** Counts the work of an evaluation, so that its caller can bound it. */
export interface Meter {
  /** Words of state that were advanced by one character. */
  steps: number;
}

/** Positions a word of state holds: bitwise operators have 32 bits, and the highest would make a word negative. */
const WORD = 31;

/**
 * Whether a glob stands for a whole name, case-sensitive: `*` is any run of characters, `?` exactly one, everything else is
 * itself. One step a character of the name and 31 of the glob, no backtracking.
 */
export function matchesGlob(glob: string, name: string, meter: Meter = { steps: 0 }): boolean {
  const first = glob.search(/[*?]/);
  if (first === -1) return glob === name;
  // Most rules are about other tools, and end here.
  if (!name.startsWith(glob.slice(0, first)) || !name.endsWith(glob.slice(lastWild(glob) + 1))) return false;
  if (first === glob.length - 1 && glob.endsWith('*')) return true;
  const characters = Array.from(name);
  const compiled = compile(glob);
  if (compiled.length > characters.length) return false;
  const words = Math.floor(compiled.length / WORD) + 1;
  meter.steps += characters.length * words;
  return run(compiled, characters, words);
}

const lastWild = (glob: string): number => Math.max(glob.lastIndexOf('*'), glob.lastIndexOf('?'));

/** A set of positions: position p is bit p % 31 of word p / 31. */
type Positions = Int32Array;

interface Compiled {
  /** Characters it takes at the least; the position after the last of them accepts. */
  readonly length: number;
  /** Positions a star stands at: they hold whatever comes. */
  readonly loops: Positions;
  /** Positions any character leads on from. */
  readonly wild: Positions;
  /** Positions a given character leads on from, `wild` included. */
  readonly literals: ReadonlyMap<string, Positions>;
}

function compile(glob: string): Compiled {
  const characters = Array.from(glob);
  const length = characters.filter((character) => character !== '*').length;
  const none = (): Positions => new Int32Array(Math.floor(length / WORD) + 1);
  const [loops, wild, literals] = [none(), none(), new Map<string, Positions>()];
  let position = 0;
  for (const character of characters) {
    if (character === '*') add(loops, position);
    else {
      if (character === '?') add(wild, position);
      else {
        const positions = literals.get(character) ?? none();
        literals.set(character, positions);
        add(positions, position);
      }
      position += 1;
    }
  }
  for (const positions of literals.values()) wild.forEach((word, at) => (positions[at] = wordAt(positions, at) | word));
  return { length, loops, wild, literals };
}

/** Position i is in `state` while the first i characters of the glob, stars apart, have been matched. */
function run({ length, loops, wild, literals }: Compiled, characters: readonly string[], words: number): boolean {
  const state = new Int32Array(words);
  add(state, 0);
  for (const character of characters) {
    const leads = literals.get(character) ?? wild;
    let carry = 0;
    let isAlive = 0;
    for (let at = 0; at < words; at += 1) {
      const word = wordAt(state, at);
      const moved = word & wordAt(leads, at);
      const next = ((moved << 1) & 0x7fff_ffff) | carry | (word & wordAt(loops, at));
      carry = moved >>> (WORD - 1);
      state[at] = next;
      isAlive |= next;
    }
    if (isAlive === 0) return false;
  }
  return (wordAt(state, Math.floor(length / WORD)) & (1 << (length % WORD))) !== 0;
}

function add(positions: Positions, position: number): void {
  const at = Math.floor(position / WORD);
  positions[at] = wordAt(positions, at) | (1 << (position % WORD));
}

const wordAt = (positions: Positions, at: number): number => positions[at] as number;
