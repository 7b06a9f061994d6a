import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { onTestFinished } from 'vitest';
import type { Workspace } from '../../actors/api.js';
import type { ServerDefinition, UserSettings } from '../../actors/ports.js';
import { type HttpDoor, type HttpDoorOptions, openHttpDoor } from '../../adapters/serve/http-door.js';
import { unguessable } from '../../adapters/serve/secrets.js';
import type { Surface } from '../../adapters/serve/served-workspace.js';
import { systemClock } from '../../adapters/system-clock.js';
import { layer, Simulation, server } from './simulated-ports.js';

export const info = { name: 'mcp-supervisor', version: '0.0.1' };

export interface Served {
  readonly sim: Simulation;
  readonly workspace: Workspace;
  readonly surface: Surface;
}

/** A workspace on simulated servers, all of them ready. Its clock stands still; what needs no time happens by itself. */
export async function served(
  servers: readonly ServerDefinition[] = [server('files')],
  { direct = false, settings = {} }: { readonly direct?: boolean; readonly settings?: Partial<UserSettings> } = {},
): Promise<Served> {
  const sim = new Simulation();
  sim.layers = [layer('user', servers, settings)];
  const { supervisor, workspace } = await sim.open();
  const connecting = workspace.connectAll();
  await sim.settle();
  await connecting;
  onTestFinished(() => supervisor.close());
  return { sim, workspace, surface: { workspace, info, isDirect: direct } };
}

export interface HttpKit {
  readonly door: HttpDoor;
  readonly token: string;
}

/** Serves it on a free port, until the test ends. */
export async function openHttp(surface: Surface, over: Partial<HttpDoorOptions> = {}): Promise<HttpKit> {
  const token = unguessable();
  const door = await openHttpDoor({ ...surface, port: 0, token, clock: systemClock, nonce: unguessable, ...over });
  onTestFinished(() => door.close());
  return { door, token };
}

export interface CallSettings {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: { readonly progress: number; readonly total?: number | undefined }) => void;
}

export interface Result {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: { readonly [key: string]: unknown };
  readonly isError?: boolean;
}

/** What a test wants of a client, whichever SDK it is. */
export interface TestClient {
  readonly era: 'legacy' | 'modern';
  /** The forms it was sent, by their messages. */
  readonly forms: string[];
  /** How often it was told that the tools have changed. */
  readonly changes: () => number;
  readonly instructions: () => string | undefined;
  list(
    cursor?: string,
  ): Promise<{ readonly tools: readonly { readonly name: string }[]; readonly nextCursor?: string | undefined }>;
  call(name: string, args: object, settings?: CallSettings): Promise<Result>;
  close(): Promise<void>;
}

export interface ClientSettings {
  /** How its person answers a form. Absent: it takes none. */
  readonly answer?: (form: { readonly message: string }) => unknown;
}

/** What both SDKs take for a transport. */
interface AnyTransport {
  start(): Promise<void>;
  close(): Promise<void>;
}

type LegacyTransport = Parameters<LegacyClient['connect']>[0];
type ModernTransport = Parameters<ModernClient['connect']>[0];

/** A client of the SDK's maintenance line: it speaks the older era only. */
export async function legacyClient(transport: AnyTransport, { answer }: ClientSettings = {}): Promise<TestClient> {
  const client = new LegacyClient(
    { name: 'v1', version: '1.0.0' },
    { capabilities: answer === undefined ? {} : { elicitation: {} } },
  );
  const forms: string[] = [];
  let changes = 0;
  if (answer !== undefined)
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      forms.push(params.message);
      return (await answer(params)) as never;
    });
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    changes += 1;
  });
  await client.connect(transport as LegacyTransport);
  return {
    era: 'legacy',
    forms,
    changes: () => changes,
    instructions: () => client.getInstructions(),
    list: (cursor) => client.listTools(cursor === undefined ? {} : { cursor }),
    call: async (name, args, settings) => resultOf(await client.callTool({ name, arguments: { ...args } }, undefined, settings)),
    close: () => client.close(),
  };
}

/** A client of the SDK's current line, in the newer era. */
export async function modernClient(transport: AnyTransport, { answer }: ClientSettings = {}): Promise<TestClient> {
  const forms: string[] = [];
  let changes = 0;
  const client = new ModernClient(
    { name: 'v2', version: '1.0.0' },
    {
      capabilities: answer === undefined ? {} : { elicitation: { form: {} } },
      versionNegotiation: { mode: { pin: '2026-07-28' } },
      listChanged: { tools: { autoRefresh: false, onChanged: () => void (changes += 1), debounceMs: 0 } },
    },
  );
  if (answer !== undefined)
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      forms.push(params.message);
      return (await answer(params)) as never;
    });
  await client.connect(transport as ModernTransport);
  return {
    era: 'modern',
    forms,
    changes: () => changes,
    instructions: () => client.getInstructions(),
    // Without a cursor this SDK would read all pages by itself.
    list: (cursor) => client.request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } }),
    call: async (name, args, settings) => resultOf(await client.callTool({ name, arguments: { ...args } }, settings)),
    close: () => client.close(),
  };
}

const resultOf = (answer: object): Result => answer as Result;

const headersFor = (token: string) => ({ requestInit: { headers: { Authorization: `Bearer ${token}` } } });

/** A client of each SDK at the same address, closed when the test ends. */
export async function httpClients({ door, token }: HttpKit, settings: ClientSettings = {}): Promise<[TestClient, TestClient]> {
  const url = new URL(door.url);
  const clients: [TestClient, TestClient] = [
    await legacyClient(new LegacyHttp(url, headersFor(token)), settings),
    await modernClient(new ModernHttp(url, headersFor(token)), settings),
  ];
  onTestFinished(async () => {
    await Promise.all(clients.map((client) => client.close()));
  });
  return clients;
}

export const textOf = ({ content }: Result): string => content.map(({ text }) => text ?? '').join('\n');
