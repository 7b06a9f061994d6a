import type { Code, Failure } from '../../machines/vocabulary.js';

/** What the command's exit code says. A command ended by a signal exits with 128 + its number. */
export const EXIT = {
  done: 0,
  /** The call failed or was blocked; also a tool that answered with `isError`. */
  failed: 1,
  usage: 2,
  /** A configuration or state file is refused as a whole. */
  configRejected: 3,
  /** The server is behind a shut gate, or did not become ready. */
  notAvailable: 4,
} as const;

const REJECTING: ReadonlySet<Code> = new Set<Code>([
  'CONFIG_UNREADABLE',
  'CONFIG_SYNTAX',
  'CONFIG_DUPLICATE_KEY',
  'CONFIG_INVALID',
  'STORE_UNSAFE',
  'STORE_FAILED',
]);
const NOT_THERE: ReadonlySet<Code> = new Set<Code>(['NOT_READY', 'UNKNOWN_SERVER', 'SERVER_REMOVED']);

/** A failure's exit code: whole files, then whatever comes before a call reaches its server, then the call itself. */
export function exitCodeOf({ code, stage }: Failure): number {
  if (REJECTING.has(code)) return EXIT.configRejected;
  if (NOT_THERE.has(code)) return EXIT.notAvailable;
  return stage === 'call' || stage === 'closing' ? EXIT.failed : EXIT.notAvailable;
}
