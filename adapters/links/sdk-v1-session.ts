import type * as SdkV1 from '@modelcontextprotocol/sdk/client/index.js';
import { type SupervisorError, supervisorError } from '../../actors/errors.js';
import type { Handshake } from '../../machines/vocabulary.js';
import { handshakeError } from './handshake-error.js';
import type { Body, Message } from './message.js';
import { readHandshake } from './read-handshake.js';
import type { Session, SessionDeps } from './session.js';
import { WireTransport } from './wire-transport.js';

/** Who opened the link owns the deadline of the handshake, so the SDK's own is put out of the way. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
const METHOD_NOT_FOUND = -32_601;

const OTHER_ENGINE = "It may speak only 2026-07-28 or later: leave out `engine: 'sdk'` to use the current line of the SDK.";
const INSTALL = "npm install @modelcontextprotocol/sdk@^1.32.0, or leave out `engine: 'sdk'`.";

type Sdk = typeof SdkV1;

/** Loads the peer; rejects with `ENGINE_MISSING` when it is not installed or does not load. */
export async function loadSdkV1(
  load: () => Promise<Sdk> = () => import('@modelcontextprotocol/sdk/client/index.js'),
): Promise<Sdk> {
  try {
    return await load();
  } catch (cause) {
    const message = 'The engine "sdk" needs the package @modelcontextprotocol/sdk, which cannot be loaded.';
    throw supervisorError('ENGINE_MISSING', message, { hint: INSTALL, cause });
  }
}

/** The control plane of one link by the older line of the SDK: every server is greeted in the older way. */
export class SdkV1Session implements Session {
  readonly hasProbed = false;
  readonly isLateModern = false;
  readonly #deps: SessionDeps;
  readonly #transport: WireTransport;
  #client: SdkV1.Client | null = null;

  constructor(deps: SessionDeps) {
    this.#deps = deps;
    this.#transport = new WireTransport(deps.pid, deps.push);
  }

  get hasInitialized(): boolean {
    return this.#transport.sent.has('initialize');
  }

  async connect(): Promise<void> {
    const sdk = await loadSdkV1();
    const client = new sdk.Client(this.#deps.clientInfo, {
      capabilities: {},
      // Lists and calls are not the SDK's here, so it has nothing to compile and nothing to validate.
      jsonSchemaValidator: { getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }) },
    });
    try {
      await client.connect(this.#transport, { timeout: NO_TIMEOUT_MS });
    } catch (error) {
      throw withHint(error);
    }
    this.#client = client;
  }

  handshake(): Handshake {
    const client = this.#connected();
    return readHandshake({
      era: 'legacy',
      protocolVersion: this.#transport.protocolVersion,
      capabilities: client.getServerCapabilities(),
      serverInfo: client.getServerVersion(),
    });
  }

  /** Nothing: only a server of the current era wants any. */
  requestMeta(): Body {
    return {};
  }

  /** Rejects: an older server announces changes unasked, on the wire itself. */
  async listen(): Promise<void> {
    throw supervisorError('LIST_FAILED', 'An older server is not asked to announce changes.');
  }

  receive(message: Message): boolean {
    return this.#transport.receive(message);
  }

  close(): void {
    this.#transport.end();
  }

  #connected(): SdkV1.Client {
    if (this.#client === null) throw supervisorError('LINK_LOST', 'The handshake has not been made.');
    return this.#client;
  }
}

/** Tells a server of another era from one that refuses us, and what to do about it. */
function withHint(thrown: unknown): SupervisorError {
  const error = handshakeError(thrown);
  const isUnknown = thrown instanceof Error && 'code' in thrown && thrown.code === METHOD_NOT_FOUND;
  if (error.code !== 'ERA_NEGOTIATION_FAILED' && !isUnknown) return error;
  return supervisorError('ERA_NEGOTIATION_FAILED', error.message, { hint: OTHER_ENGINE, cause: thrown });
}
