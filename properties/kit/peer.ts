import type { ListKind } from '../../machines/vocabulary.js';

/** The other end of a connection, as far as a schedule does something to it unasked. */
export interface Peer {
  readonly name: string;
  /** It does nothing any more. */
  readonly isOver: boolean;
  die(code?: 'LINK_LOST' | 'CONNECT_FAILED' | 'TLS_FAILED', death?: boolean): void;
  announce(kind: ListKind): void;
  stderr(): void;
  /** It tells how far one of its calls has come; false when it has none. */
  progress(which: number): boolean;
  /** It gives its last answer once more; false when it has given none. */
  repeat(): boolean;
  /** The stream of announcements ends. */
  endStreams(): void;
}
