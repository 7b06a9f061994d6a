/** A lazy server of the user, one that is kept alive, a remote one, and one that the workspace brings along. */
export const IDS = ['lazy', 'kept', 'far', 'own'] as const;
export type ServerId = (typeof IDS)[number];

/** How many live connections there are for the four of them. */
export const CAPACITY = 2;
export const IDLE_MS = 20_000;

/** What of a workspace decides what may run: flags and sets, no states, no time. */
export class Model {
  trusted = false;
  remote = false;
  rules = 'none';
  readonly on = new Set<ServerId>(['lazy', 'kept', 'far']);
  readonly present = new Set<ServerId>(IDS);
  /** Counts definitions, so that each has a hash of its own. */
  readonly versions: Record<ServerId, number> = { lazy: 1, kept: 1, far: 1, own: 1 };
  readonly idleMs: Record<ServerId, number> = { lazy: IDLE_MS, kept: IDLE_MS, far: IDLE_MS, own: IDLE_MS };
  /** Counts what the program of the workspace's own was rewritten to, with its definition left as it is. */
  rewritten = 0;
  /** Fingerprints, and calls by their text, that a person said yes to. */
  readonly approved = new Set<string>();
  readonly approvedCalls = new Set<string>();
  /** Calls by their text that were seen at a server. */
  readonly sent = new Set<string>();
  /** Links, by their number, that were seen open. */
  links = 0;
  /** Servers whose tools were listed to the end, with the hash they had. */
  readonly listed = new Map<ServerId, string>();

  hash(id: ServerId): string {
    return `${id}-${this.versions[id]}`;
  }

  /** What the files behind the workspace's own server come to. */
  get fingerprint(): string {
    return `fingerprint of ${this.hash('own')} rewritten ${this.rewritten} times`;
  }

  /** The code of the first gate that is shut; null when nothing but an approval may be missing. */
  gate(id: ServerId): 'REMOTE_OFF' | 'UNTRUSTED' | 'DISABLED' | null {
    if (id === 'far' && !this.remote) return 'REMOTE_OFF';
    if (id === 'own' && !this.trusted) return 'UNTRUSTED';
    return this.on.has(id) ? null : 'DISABLED';
  }

  /** Whether a link of this server under this definition may be open. */
  mayRun(id: ServerId, hash: string): boolean {
    return this.present.has(id) && this.hash(id) === hash && this.gate(id) === null;
  }

  /** Whether any program of the present definition was approved. */
  get wasApproved(): boolean {
    return [...this.approved].some((one) => one.startsWith(`fingerprint of ${this.hash('own')} `));
  }

  /** Whether one may be opened now. */
  mayStart(id: ServerId): boolean {
    return id !== 'own' || this.approved.has(this.fingerprint);
  }

  /** A deny is a deny, whatever else is said and in whatever order. */
  isDenied(tool: string): boolean {
    return tool === 'rm' && this.rules !== 'none';
  }
}
