import { failure } from '../machines/vocabulary.js';
import { toFailure } from './errors.js';
import type { ConfigFault, ConfigScope, DbPort, GrantsPort, LogPort } from './ports.js';

type Kept = ReadonlyMap<string, ReadonlySet<string>>;

export interface GrantsDeps {
  /** Absent: nothing is remembered. */
  readonly grants: GrantsPort | undefined;
  readonly db: Pick<DbPort, 'grants' | 'saveGrant' | 'forgetGrants' | 'watch'>;
  readonly log: LogPort;
  readonly scope: ConfigScope;
  readonly isTrusted: () => boolean;
  /** A grant counts from now on (`kept`, with the digest it is for), or none of this tool does any more. */
  readonly onGrant: (tool: string, digest: string | null) => void;
  readonly onChange: () => void;
}

const NOTHING: Kept = new Map();

/**
 * Approvals of tools that are remembered. One counts only while the workspace is trusted, its file lists the tool, and this
 * computer knows that it was given here for this very definition: neither a clone nor a changed tool brings its own yes. A line
 * that is taken out is forgotten for good, so that whoever writes it back has approved nothing.
 *
 * The file is written before the store. So what the store holds was listed once, and is missing in a file that is read later
 * only if somebody took it out, whichever process reads it.
 */
export class Grants {
  readonly #deps: GrantsDeps;
  readonly #watch: { close(): Promise<void> } | undefined;
  #listed: ReadonlySet<string> = new Set();
  #kept: Kept = NOTHING;
  #faults: readonly ConfigFault[] = [];
  /** What a person wanted remembered last, if that could not be done. */
  #failed: ConfigFault | null = null;
  #queue: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(deps: GrantsDeps) {
    this.#deps = deps;
    this.#watch = deps.grants === undefined ? undefined : deps.db.watch(() => void this.reload());
  }

  /** Whether a yes could be remembered here at all. */
  get canRemember(): boolean {
    return this.#deps.grants !== undefined && this.#deps.isTrusted() && !this.#isClosed;
  }

  /** What is wrong with the file, and with what could not be added to it. */
  get warnings(): readonly ConfigFault[] {
    return this.#failed === null ? this.#faults : [...this.#faults, this.#failed];
  }

  /** `other`: what was remembered was another definition of this tool. `digest` is made only where it matters. */
  of(tool: string, digest: () => string): 'granted' | 'other' | 'none' {
    if (!this.#listed.has(tool) || !this.#deps.isTrusted()) return 'none';
    const kept = this.#kept.get(tool);
    if (kept === undefined) return 'none';
    return kept.has(digest()) ? 'granted' : 'other';
  }

  /** Reads file and store anew, after whatever was asked for before. Never rejects: what cannot be read grants nothing. */
  reload(): Promise<void> {
    const { grants } = this.#deps;
    return grants === undefined ? Promise.resolve() : this.#inTurn(() => this.#read(grants));
  }

  /** Never rejects: the call that was approved goes on whatever becomes of this. A failure is logged and a warning. */
  remember(tool: string, digest: string): Promise<void> {
    const { grants } = this.#deps;
    return grants === undefined ? Promise.resolve() : this.#inTurn(() => this.#add(grants, tool, digest));
  }

  /** Settles when what was to be remembered is, or could not be. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#watch?.close(), this.#queue]);
  }

  #inTurn(task: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(task);
    this.#queue = done;
    return done;
  }

  async #read(grants: GrantsPort): Promise<void> {
    if (this.#isClosed) return;
    const { db, scope, isTrusted } = this.#deps;
    try {
      // In this order: what was kept before the file was read has been in it.
      const kept = await db.grants(scope.root);
      if (!isTrusted()) {
        this.#take(new Set(), kept, []);
        return;
      }
      const { state, tools, faults } = await grants.read(scope);
      const listed = new Set(tools);
      const gone = state === 'faulty' ? [] : [...kept.keys()].filter((tool) => !listed.has(tool));
      this.#take(listed, new Map([...kept].filter(([tool]) => !gone.includes(tool))), faults);
      await this.#forget(gone);
    } catch (error) {
      this.#take(new Set(), NOTHING, []);
      this.#log(error);
    }
  }

  #take(listed: ReadonlySet<string>, kept: Kept, faults: readonly ConfigFault[]): void {
    this.#listed = listed;
    this.#kept = kept;
    this.#faults = faults;
    this.#deps.onChange();
  }

  async #forget(tools: readonly string[]): Promise<void> {
    if (tools.length === 0 || !this.#deps.isTrusted()) return;
    await this.#deps.db.forgetGrants(this.#deps.scope.root, tools);
    for (const tool of tools) this.#deps.onGrant(tool, null);
  }

  async #add(grants: GrantsPort, tool: string, digest: string): Promise<void> {
    const { db, scope, isTrusted, onGrant, onChange } = this.#deps;
    // An untrusted workspace is not written to, whatever was agreed to before.
    if (!isTrusted()) return;
    try {
      await grants.add(scope, tool);
      await db.saveGrant(scope.root, tool, digest);
      this.#listed = new Set(this.#listed).add(tool);
      this.#kept = new Map(this.#kept).set(tool, new Set(this.#kept.get(tool)).add(digest));
      this.#failed = null;
      onGrant(tool, digest);
    } catch (error) {
      const { code, message } = toFailure(error, 'STORE_FAILED');
      const said = `the approval of "${tool}" could not be remembered: ${message}`;
      this.#failed = { file: '', line: null, column: null, key: 'allowMcpTools', code, message: said };
      this.#log(failure(code, said));
    }
    onChange();
  }

  #log(thrown: unknown): void {
    const { code, message } = toFailure(thrown, 'STORE_FAILED');
    this.#deps.log.write({ level: 'warn', event: 'grants.failed', code, message });
  }
}
