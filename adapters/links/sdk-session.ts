import type { Client, JSONRPCMessage, SubscriptionFilter, Transport } from '@modelcontextprotocol/client';
import { type Failure, supervisorError } from '../../actors/errors.js';
import type { Handshake, ListKind } from '../../machines/vocabulary.js';
import { type Answer, type Body, isBody, type Message } from './message.js';

/** A server that says nothing to a modern opening for so long is spoken to in the older way, in milliseconds. */
const PROBE_TIMEOUT_MS = 2_000;
/** Who opened the link owns the deadline of the handshake, so the SDK's own is put out of the way. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
const LISTEN_TIMEOUT_MS = 10_000;
const NAME_LENGTH_MAX = 256;

export interface SessionDeps {
  readonly clientInfo: { readonly name: string; readonly version: string };
  readonly pid: number | null;
  /** Puts one frame on the pipe, or says why not. */
  readonly push: (frame: string) => Failure | null;
}

const loadSdk = () => import('@modelcontextprotocol/client');

/** Loads the SDK while a process starts. It is not loaded before it is needed: a command that starts nothing is quick. */
export function preloadSdk(): void {
  loadSdk().catch(() => undefined);
}

/**
 * The control plane of one link: the SDK's client on a transport that is our pipe. It agrees on an era, listens for
 * announcements and answers what the server asks. One attempt, one session: neither client nor transport is used twice.
 */
export class SdkSession {
  readonly #deps: SessionDeps;
  readonly #transport: PipeTransport;
  #client: Client | null = null;
  #isLateModern = false;

  constructor(deps: SessionDeps) {
    this.#deps = deps;
    this.#transport = new PipeTransport(deps.pid, deps.push);
  }

  /** Whether the server was sent a request that an older one may die of. */
  get hasProbed(): boolean {
    return this.#transport.sent.has('server/discover');
  }

  /** Whether the server was spoken to in the older way. */
  get hasInitialized(): boolean {
    return this.#transport.sent.has('initialize');
  }

  /** Whether the server gave a modern answer only after it had been taken for an older one. */
  get isLateModern(): boolean {
    return this.#isLateModern;
  }

  /** Agrees on an era and a revision; `isLegacy`: without asking for the era first. */
  async connect(isLegacy: boolean): Promise<void> {
    const { Client: SdkClient } = await loadSdk();
    const client = new SdkClient(this.#deps.clientInfo, {
      capabilities: {},
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: PROBE_TIMEOUT_MS } },
      // Lists and calls are not the SDK's here, so it has nothing to validate.
      jsonSchemaValidator: { getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }) },
    });
    this.#client = client;
    const options = { timeout: NO_TIMEOUT_MS };
    await client.connect(this.#transport, isLegacy ? { ...options, prior: { kind: 'legacy' } } : options);
  }

  /** What was agreed on. To be asked after `connect`. */
  handshake(): Handshake {
    const client = this.#connected();
    const capabilities = client.getServerCapabilities() ?? {};
    const info = client.getServerVersion();
    const { tools, resources, prompts } = capabilities;
    const lists: ListKind[] = [];
    if (tools !== undefined) lists.push('tools');
    if (resources !== undefined) lists.push('resources', 'resourceTemplates');
    if (prompts !== undefined) lists.push('prompts');
    return {
      era: client.getProtocolEra() ?? 'legacy',
      protocolVersion: client.getNegotiatedProtocolVersion() ?? '',
      serverInfo: info === undefined ? null : { name: bounded(info.name), version: bounded(info.version) },
      lists,
      announces: [tools, resources, prompts].some((capability) => capability?.listChanged === true),
    };
  }

  /** What a modern server wants in the `_meta` of every request. */
  requestMeta(): Body {
    return {
      'io.modelcontextprotocol/protocolVersion': this.handshake().protocolVersion,
      'io.modelcontextprotocol/clientInfo': this.#deps.clientInfo,
      'io.modelcontextprotocol/clientCapabilities': {},
    };
  }

  /** Settles when announcements stop coming. */
  async listen(): Promise<void> {
    const client = this.#connected();
    const { tools, resources, prompts } = client.getServerCapabilities() ?? {};
    const filter: SubscriptionFilter = {
      ...(tools?.listChanged === true && { toolsListChanged: true }),
      ...(resources?.listChanged === true && { resourcesListChanged: true }),
      ...(prompts?.listChanged === true && { promptsListChanged: true }),
    };
    if (Object.keys(filter).length === 0) throw supervisorError('LIST_FAILED', 'The server announces no changes.');
    const subscription = await client.listen(filter, { timeout: LISTEN_TIMEOUT_MS });
    await subscription.closed;
  }

  /** Takes a message for the SDK; false for an answer to what the SDK never asked. */
  receive(message: Message): boolean {
    if (message.kind !== 'answer') {
      this.#transport.deliver(message.body);
      return true;
    }
    const id = this.#transport.matchAsked(message.id);
    if (id === null) return false;
    this.#noteLateDiscover(message);
    this.#transport.deliver(id === message.id ? message.body : { ...message.body, id });
    return true;
  }

  /** Ends what waits for an answer; the pipe itself is not this session's. */
  close(): void {
    this.#transport.end();
  }

  #noteLateDiscover({ id, body }: Answer): void {
    const result = body['result'];
    if (typeof id !== 'string' || !this.hasInitialized || !isBody(result)) return;
    this.#isLateModern ||= Array.isArray(result['supportedVersions']);
  }

  #connected(): Client {
    if (this.#client === null) throw supervisorError('LINK_LOST', 'The handshake has not been made.');
    return this.#client;
  }
}

/**
 * A pipe as the SDK sees it. Having `pid` and `stderr` tells the SDK that a process is behind it, so that it asks for the
 * era in place and takes silence for an older server; a second process is started only for the SDK's own transport.
 */
class PipeTransport implements Transport {
  readonly pid: number | null;
  readonly stderr = null;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];
  /** Methods of the requests that were sent. */
  readonly sent = new Set<string>();
  readonly #asked = new Set<string | number>();
  readonly #push: SessionDeps['push'];
  #isClosed = false;

  constructor(pid: number | null, push: SessionDeps['push']) {
    this.pid = pid;
    this.#push = push;
  }

  async start(): Promise<void> {
    if (this.#isClosed) throw supervisorError('LINK_LOST', 'The link is closed.');
  }

  /** Settles at once: a write that fails ends the whole link, which says more than the error of one write. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) throw supervisorError('LINK_LOST', 'The link is closed.');
    if ('method' in message && 'id' in message) {
      this.sent.add(message.method);
      this.#asked.add(message.id);
    }
    const refused = this.#push(JSON.stringify(message));
    if (refused !== null) throw supervisorError(refused.code, refused.message);
  }

  async close(): Promise<void> {
    this.end();
  }

  end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onclose?.();
  }

  deliver(body: object): void {
    // Only the envelope was checked; the SDK validates what is inside before it uses it.
    if (!this.#isClosed) this.onmessage?.(body as JSONRPCMessage);
  }

  /** The id this answers, once; some servers give a number back as a string. */
  matchAsked(id: string | number): string | number | null {
    if (this.#asked.delete(id)) return id;
    const count = typeof id === 'string' ? Number(id) : Number.NaN;
    return String(count) === id && this.#asked.delete(count) ? count : null;
  }
}

const bounded = (text: string): string => text.slice(0, NAME_LENGTH_MAX);
