import type { Client, SubscriptionFilter } from '@modelcontextprotocol/client';
import { supervisorError } from '../../actors/errors.js';
import type { Handshake } from '../../machines/vocabulary.js';
import { type Answer, type Body, isBody, type Message } from './message.js';
import { readHandshake } from './read-handshake.js';
import type { Engine, Session, SessionDeps } from './session.js';
import { WireTransport } from './wire-transport.js';

/** A server that says nothing to a modern opening for so long is spoken to in the older way, in milliseconds. */
const PROBE_TIMEOUT_MS = 2_000;
/** Who opened the link owns the deadline of the handshake, so the SDK's own is put out of the way. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
const LISTEN_TIMEOUT_MS = 10_000;

const loadSdk = () => import('@modelcontextprotocol/client');

/**
 * The current line of the SDK, which speaks both eras. It is not loaded before it is needed: a command that starts nothing
 * is quick.
 */
export const clientEngine: Engine = {
  name: 'client',
  preload: () => void loadSdk().catch(() => undefined),
  open: (deps) => new SdkSession(deps),
};

class SdkSession implements Session {
  readonly #deps: SessionDeps;
  readonly #transport: WireTransport;
  #client: Client | null = null;
  #isLateModern = false;

  constructor(deps: SessionDeps) {
    this.#deps = deps;
    this.#transport = new WireTransport(deps.pid, deps.push);
  }

  get hasProbed(): boolean {
    return this.#transport.sent.has('server/discover');
  }

  get hasInitialized(): boolean {
    return this.#transport.sent.has('initialize');
  }

  get isLateModern(): boolean {
    return this.#isLateModern;
  }

  async connect(isLegacy: boolean): Promise<void> {
    const { Client: SdkClient } = await loadSdk();
    const client = new SdkClient(this.#deps.clientInfo, {
      capabilities: {},
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: this.#deps.probeTimeoutMs ?? PROBE_TIMEOUT_MS } },
      // Lists and calls are not the SDK's here, so it has nothing to validate.
      jsonSchemaValidator: { getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }) },
    });
    this.#client = client;
    const options = { timeout: NO_TIMEOUT_MS };
    await client.connect(this.#transport, isLegacy ? { ...options, prior: { kind: 'legacy' } } : options);
  }

  handshake(): Handshake {
    const client = this.#connected();
    return readHandshake({
      era: client.getProtocolEra() ?? 'legacy',
      protocolVersion: client.getNegotiatedProtocolVersion() ?? '',
      capabilities: client.getServerCapabilities(),
      serverInfo: client.getServerVersion(),
    });
  }

  requestMeta(): Body {
    return {
      'io.modelcontextprotocol/protocolVersion': this.handshake().protocolVersion,
      'io.modelcontextprotocol/clientInfo': this.#deps.clientInfo,
      'io.modelcontextprotocol/clientCapabilities': {},
    };
  }

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

  receive(message: Message): boolean {
    const isTaken = this.#transport.receive(message);
    if (isTaken && message.kind === 'answer') this.#noteLateDiscover(message);
    return isTaken;
  }

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
