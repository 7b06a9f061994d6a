import type { PolicyAnswer } from '../machines/policy.js';
import type { TransportInput } from '../machines/server-events.js';
import type { LayerName, ServerId, TransportKind } from '../machines/vocabulary.js';
import type { AuditEntry, AuditPort, DigestPort, Json, Question } from './ports.js';
import type { Answer } from './questions.js';

export interface AuditTrailDeps {
  /** Absent: nothing is recorded, and nothing is digested for it. */
  readonly audit: Pick<AuditPort, 'record'> | undefined;
  readonly digest: DigestPort;
  /** Real path of the workspace. */
  readonly root: string;
  readonly layerOf: (server: ServerId) => LayerName | null;
}

/** A call as a policy judged it. */
export interface JudgedCall {
  readonly server: ServerId;
  /** Full name, or server and method. */
  readonly tool: string;
  readonly arguments: Json;
  readonly session: string | undefined;
  readonly byPerson: boolean | undefined;
}

/** What takes effect in a workspace as a whole. */
export interface Decided {
  readonly trusted: boolean;
  readonly remoteEnabled: boolean;
  readonly switches: ReadonlyMap<string, boolean>;
}

/** Canonical JSON in plain code costs more than the call it is about when the arguments are long. */
const CANONICAL_CHARS_MAX = 65_536;
/** A glob of a rule is as long as its file lets it be. */
const RULE_CHARS_MAX = 256;

/** What happens in one workspace, told to the audit in ids and digests. Costs an allowed call one object. */
export class AuditTrail {
  readonly #deps: AuditTrailDeps;
  readonly #workspace: string;
  /** By server, until anything changes: a call must not search all candidates again. */
  readonly #layers = new Map<ServerId, LayerName | null>();
  #decided: Decided | null = null;
  #session: { readonly name: string; readonly digest: string } | null = null;

  constructor(deps: AuditTrailDeps) {
    this.#deps = deps;
    this.#workspace = deps.audit === undefined ? '' : digestOf(deps.digest, deps.root);
  }

  /** A process or a connection is about to be opened. */
  started({ key, generation, configHash: config, fingerprint }: TransportInput, transport: TransportKind): void {
    const slash = key.lastIndexOf('/');
    const [layer, server] = [key.slice(0, slash), key.slice(slash + 1)];
    this.#record({ workspace: this.#workspace, event: 'start', server, layer, transport, generation, config, fingerprint });
  }

  judged(call: JudgedCall, { verdict, rule }: PolicyAnswer): void {
    const { audit, digest } = this.#deps;
    if (audit === undefined) return;
    const { server, session } = call;
    const facts = { workspace: this.#workspace, layer: this.#layerOf(server), session: this.#ofSession(session) };
    audit.record(new CallRecord(facts, call, verdict, rule, digest));
  }

  /** A question that was withdrawn had no answer. */
  readonly answered = (question: Question, answer: Answer): void => {
    if (answer === 'withdrawn' || this.#deps.audit === undefined) return;
    const { digest } = this.#deps;
    const { kind: about, server } = question;
    const common = { workspace: this.#workspace, event: 'answer', about, server, answer } as const;
    if (question.kind === 'server') {
      const { fingerprint } = question;
      return this.#record({ ...common, fingerprint, tool: null, session: null, arguments: null });
    }
    this.#record({
      ...common,
      fingerprint: null,
      tool: question.tool,
      session: this.#ofSession(question.session ?? undefined),
      arguments: argumentsDigest(digest, question.arguments),
    });
  };

  granted(tool: string, definition: string | null): void {
    this.#record({ workspace: this.#workspace, event: 'grant', tool, definition, kept: definition !== null });
  }

  /** After anything of it may have changed, whoever changed it. The host's own word on trust is a decision, what is remembered is none. */
  decided({ trusted, remoteEnabled, switches }: Decided, isHostsWord: boolean): void {
    this.#layers.clear();
    const before = this.#decided;
    if (before?.trusted === trusted && before.remoteEnabled === remoteEnabled && before.switches === switches) return;
    this.#decided = { trusted, remoteEnabled, switches };
    if (before === null ? isHostsWord : before.trusted !== trusted)
      this.#record({ workspace: this.#workspace, event: 'trust', trusted });
    if (before === null) return;
    if (before.remoteEnabled !== remoteEnabled) this.#record({ workspace: this.#workspace, event: 'remote', on: remoteEnabled });
    for (const [key, on] of switches) if (before.switches.get(key) !== on) this.#switched(key, on);
  }

  #switched(key: string, on: boolean): void {
    // `mcp.disabled.<layer>.<id>`, for a workspace's server followed by what it connects to and its root.
    const [name = '', , ...root] = key.split('#');
    if (root.length > 0 && root.join('#') !== this.#deps.root) return;
    const [server = '', ...layer] = name.slice('mcp.disabled.'.length).split('.').toReversed();
    this.#record({ workspace: this.#workspace, event: 'switch', server, layer: layer.toReversed().join('.'), on });
  }

  #layerOf(server: ServerId): LayerName | null {
    const known = this.#layers.get(server);
    if (known !== undefined) return known;
    const layer = this.#deps.layerOf(server);
    this.#layers.set(server, layer);
    return layer;
  }

  /** Most calls are of the session that called last. */
  #ofSession(session: string | undefined): string | null {
    if (session === undefined) return null;
    if (this.#session?.name !== session) this.#session = { name: session, digest: digestOf(this.#deps.digest, session) };
    return this.#session.digest;
  }

  #record(entry: AuditEntry): void {
    this.#deps.audit?.record(entry);
  }
}

type CallEntry = Extract<AuditEntry, { readonly event: 'call' }>;

/** A call as it is told. What it was given is digested when that is first asked for, after the call has gone its way. */
class CallRecord implements CallEntry {
  readonly event = 'call';
  readonly workspace: string;
  readonly server: ServerId;
  readonly layer: LayerName | null;
  readonly tool: string;
  readonly session: string | null;
  readonly verdict: PolicyAnswer['verdict'];
  readonly rule: string;
  readonly byPerson: boolean;
  readonly #digest: DigestPort;
  #given: Json;
  #arguments: string | null = null;

  constructor(
    { workspace, layer, session }: Pick<CallEntry, 'workspace' | 'layer' | 'session'>,
    { server, tool, arguments: given, byPerson = false }: JudgedCall,
    verdict: PolicyAnswer['verdict'],
    rule: string,
    digest: DigestPort,
  ) {
    this.workspace = workspace;
    this.server = server;
    this.layer = layer;
    this.tool = tool;
    this.session = session;
    this.verdict = verdict;
    this.rule = rule.length > RULE_CHARS_MAX ? rule.slice(0, RULE_CHARS_MAX).replace(/[\ud800-\udbff]$/, '') : rule;
    this.byPerson = byPerson;
    this.#digest = digest;
    this.#given = given;
  }

  get arguments(): string {
    this.#arguments ??= argumentsDigest(this.#digest, this.#given);
    this.#given = null;
    return this.#arguments;
  }

  toJSON(): CallEntry {
    const { event, workspace, server, layer, tool, session, verdict, rule, byPerson } = this;
    return { workspace, event, server, layer, tool, session, arguments: this.arguments, verdict, rule, byPerson };
  }
}

/** Of the canonical form where there is one, else of the text that is sent; never fails. */
function argumentsDigest(digest: DigestPort, args: Json): string {
  try {
    const text = JSON.stringify(args);
    return text.length > CANONICAL_CHARS_MAX ? digestOf(digest, text) : digestOf(digest, args, text);
  } catch {
    return digestOf(digest, 'no JSON');
  }
}

/** Half a surrogate pair has no canonical form; as JSON writes it, it has. */
function digestOf(digest: DigestPort, value: Json, text: string = JSON.stringify(value)): string {
  try {
    return digest.ofJson(value);
  } catch {
    return digest.ofJson(text);
  }
}
