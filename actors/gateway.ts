import { cutUtf8 } from '../machines/utf8.js';
import type { ServerId } from '../machines/vocabulary.js';
import type { CallOptions, CallResult, Gateway, GatewayResult, WorkspaceStatus } from './api.js';
import type { Catalogue, SearchQuery } from './catalogue.js';
import { SupervisorError, supervisorError } from './errors.js';
import { answer, failureAnswer } from './gateway-answers.js';
import { gatewayInstructions, gatewayTool } from './gateway-definition.js';
import { beingListed, notListed } from './gateway-listing.js';
import { type GatewayRequest, invalid, type JsonObject, needText, parseGatewayRequest } from './gateway-request.js';
import { marksOf, oneLine, promptSummary, readableSummary, serverSummary, toolSummary, withMarks } from './gateway-summaries.js';
import type { CatalogueListing, ListingPage } from './listing-page.js';
import type { Outputs } from './outputs.js';
import type { LogPort, RegexPort } from './ports.js';
import { checkPromptArguments } from './prompt-arguments.js';
import type { ToolEntry } from './tool-entry.js';

/** What the gateway asks of its workspace. Policy, approval, deadlines and settling are behind `call` and `request`. */
export interface GatewayHost {
  readonly catalogue: Catalogue;
  readonly outputs: Outputs;
  /** Absent: `regex` is refused. */
  readonly regex?: RegexPort;
  readonly log?: LogPort;
  /** The next turn of the event loop: what takes long is done in slices. */
  turn(): Promise<void>;
  status(): WorkspaceStatus;
  call(fullName: string, args: JsonObject, options: CallOptions): Promise<CallResult>;
  request(
    server: ServerId,
    method: 'resources/read' | 'prompts/get',
    params: JsonObject,
    options: CallOptions,
  ): Promise<CallResult>;
}

const REGEX_UNITS_MAX = 256;
/** Tools whose texts are tested in one turn: some milliseconds, with the longest descriptions. */
const REGEX_SLICE = 200;
const NEAREST_MAX = 3;
const READ_BYTES = 8 * 1_024;
const SPILL_SCHEME = 'spill://';

/** The one tool in front of all servers. `run` never rejects; what it gives back is bounded whatever a server sent. */
export function createGateway(host: GatewayHost): Omit<Gateway, 'tools' | 'watchTools'> {
  return {
    tool: gatewayTool,
    instructions: gatewayInstructions,
    async run(raw, options = {}) {
      let tool: string | null = null;
      try {
        const request = parseGatewayRequest(raw);
        tool = request.name ?? request.uri ?? null;
        return await dispatch(host, request, options);
      } catch (thrown) {
        return failureAnswer(foreseen(host, thrown).toFailure(), tool);
      }
    },
  };
}

function foreseen({ log }: GatewayHost, thrown: unknown): SupervisorError {
  if (SupervisorError.is(thrown)) return thrown;
  // A bug of ours. Its text may hold anything, so neither the model nor the log gets it.
  const name = thrown instanceof Error ? thrown.name : typeof thrown;
  log?.write({ level: 'error', event: 'gateway.unexpected', message: name });
  return supervisorError('SERVER_ERROR', 'the request failed in a way nobody foresaw');
}

function dispatch(host: GatewayHost, request: GatewayRequest, options: CallOptions): Promise<GatewayResult> | GatewayResult {
  switch (request.action) {
    case 'search':
      return search(host, request);
    case 'describe':
      return describe(host, request);
    case 'call':
      return call(host, request, options);
    case 'status':
      return status(host, request);
    case 'resources':
      return resources(host, request);
    case 'read':
      return read(host, request, options);
    case 'prompts':
      return prompts(host, request);
    case 'prompt':
      return prompt(host, request, options);
  }
}

async function search(host: GatewayHost, request: GatewayRequest): Promise<GatewayResult> {
  const { query = '', server, cursor, limit } = request;
  const admits = await admitting(host, request);
  const page = host.catalogue.search({ query, server, cursor, limit, admits });
  if (page.total === 0) needServer(host, server);
  const tools = page.hits.map(({ entry }) => toolSummary(entry));
  const lines = tools.map(({ name, description, marks }) => `${withMarks(name, marks)}: ${oneLine(description)}`);
  const more = page.nextCursor === null ? [] : [`More: the same search with "cursor": "${page.nextCursor}"`];
  const { note, data } = notListed(host, 'tools', server);
  const advice = page.total > 0 || note.length > 0 ? '' : '; use fewer or other words';
  const head = `${page.total} ${page.total === 1 ? 'tool' : 'tools'}${advice}`;
  return bounded(
    host,
    answer([head, ...lines, ...more, ...note].join('\n'), { tools, total: page.total, nextCursor: page.nextCursor, ...data }),
    'search',
  );
}

async function admitting(host: GatewayHost, { regex: pattern, server }: GatewayRequest): Promise<SearchQuery['admits']> {
  if (pattern === undefined || pattern === '') return undefined;
  const regex = compiled(host, pattern);
  const names = new Set<string>();
  const tools = host.catalogue.tools().filter((tool) => server === undefined || tool.server === server);
  for (const [at, { name, tool, description }] of tools.entries()) {
    if (at > 0 && at % REGEX_SLICE === 0) await host.turn();
    if (regex.test(name) || regex.test(tool) || regex.test(description)) names.add(name);
  }
  return ({ fullName }) => names.has(fullName);
}

function compiled({ regex }: GatewayHost, pattern: string): ReturnType<RegexPort['compile']> {
  if (regex === undefined) throw invalid('"regex" is not supported here', 'Use "query".');
  if (pattern.length > REGEX_UNITS_MAX) throw invalid(`"regex" is longer than ${REGEX_UNITS_MAX} characters`);
  try {
    return regex.compile(pattern);
  } catch {
    throw invalid('"regex" is not a pattern the search can run');
  }
}

async function describe(host: GatewayHost, request: GatewayRequest): Promise<GatewayResult> {
  const entry = needTool(host, needText(request, 'name'));
  const { fullName: name, server, tool, description, inputSchema } = entry;
  const outputSchema = entry.definition['outputSchema'] ?? undefined;
  const marks = marksOf(entry);
  const how = { action: 'call', name, args: {} };
  const data = {
    name,
    server,
    tool,
    description,
    marks,
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    call: how,
  };
  const text = [
    withMarks(name, marks),
    `Server: ${server}, which calls it ${JSON.stringify(tool)}`,
    description,
    `Input schema: ${JSON.stringify(inputSchema)}`,
    `Call: {"action":"call","name":"${name}","args":{…}}`,
  ];
  return bounded(host, answer(text.join('\n'), data), `describe-${name}`);
}

async function call(host: GatewayHost, request: GatewayRequest, options: CallOptions): Promise<GatewayResult> {
  const name = needText(request, 'name');
  // Who calls before a server was ever listed waits for it, or is told which of its gates is shut.
  if (!isOfUnlisted(host, name)) needTool(host, name);
  const result = await host.call(name, request.args ?? {}, options);
  return bounded(host, result, name);
}

function isOfUnlisted(host: GatewayHost, name: string): boolean {
  return host.status().servers.some(({ id, tools }) => tools.state === 'unknown' && name.startsWith(`mcp__${id}__`));
}

async function status(host: GatewayHost, request: GatewayRequest): Promise<GatewayResult> {
  needServer(host, request.server);
  const { workspace, servers } = host.status();
  const shown = servers.filter(({ id }) => request.server === undefined || id === request.server).map(serverSummary);
  const { trusted, config } = workspace;
  const lines = shown.map(({ id, phase, tools, why }) => `${id}: ${phase} · ${tools} tools${why === null ? '' : ` · ${why}`}`);
  const head = `${shown.length} ${shown.length === 1 ? 'server' : 'servers'}, configuration ${config.state}${trusted ? '' : ', workspace not trusted'}`;
  return bounded(host, answer([head, ...lines].join('\n'), { trusted, config: config.state, servers: shown }), 'status');
}

async function resources(host: GatewayHost, { server, cursor, limit }: GatewayRequest): Promise<GatewayResult> {
  const page = host.catalogue.readables(server, { cursor, limit });
  if (page.total === 0) needServer(host, server);
  return listAnswer(host, 'resources', page, server, readableSummary);
}

async function read(host: GatewayHost, request: GatewayRequest, options: CallOptions): Promise<GatewayResult> {
  const uri = needText(request, 'uri');
  if (uri.startsWith(SPILL_SCHEME)) {
    const offset = Number(request.cursor ?? '0');
    if (!Number.isSafeInteger(offset) || offset < 0) throw invalid('"cursor" is not one a read gave');
    return host.outputs.read(uri, offset, request.limit ?? READ_BYTES);
  }
  const server = needServer(host, needText(request, 'server'));
  const result = await host.request(server, 'resources/read', { uri }, options);
  return bounded(host, { contents: result['contents'] }, `read-${server}`);
}

async function prompts(host: GatewayHost, { server, cursor, limit }: GatewayRequest): Promise<GatewayResult> {
  const page = host.catalogue.prompts(server, { cursor, limit });
  if (page.total === 0) needServer(host, server);
  return listAnswer(host, 'prompts', page, server, promptSummary);
}

async function prompt(host: GatewayHost, request: GatewayRequest, options: CallOptions): Promise<GatewayResult> {
  const server = needServer(host, needText(request, 'server'));
  const name = needText(request, 'name');
  const listed = host.catalogue.prompt(server, name);
  if (listed === undefined) throw invalid(`"name": ${server} has no prompt of this name`, 'List them with {"action":"prompts"}.');
  const given = checkPromptArguments(listed.definition, request.args ?? {});
  const result = await host.request(server, 'prompts/get', { name, arguments: given }, options);
  const { description, messages } = result;
  const data = { ...(typeof description === 'string' ? { description } : {}), messages };
  return bounded(host, { content: [{ type: 'text', text: JSON.stringify(data) }] }, `prompt-${server}`);
}

function needTool(host: GatewayHost, name: string): ToolEntry {
  const { catalogue } = host;
  const entry = catalogue.tool(name);
  if (entry !== undefined) return entry;
  const owner = beingListed(host, 'tools').find((id) => name.startsWith(`mcp__${id}__`));
  if (owner !== undefined)
    throw supervisorError('NOT_READY', `the tools of ${owner} are still being listed`, { hint: 'Ask again in a moment.' });
  const near = nearestNames(catalogue, name);
  const hint = near.length === 0 ? 'Find the full name with {"action":"search"}.' : `Did you mean: ${near.join(', ')}`;
  throw supervisorError('UNKNOWN_TOOL', `no tool has exactly the name ${JSON.stringify(cutUtf8(name, 128))}`, { hint });
}

/** A few names that share a word with a wrong one: its last part first, then its words. */
function nearestNames(catalogue: Catalogue, wrong: string): readonly string[] {
  const name = cutUtf8(wrong, 128);
  const tail = name.split('__').at(-1) ?? '';
  const words = tail.split(/[^A-Za-z0-9]+/).filter((word) => word.length > 2);
  for (const query of [tail, ...words.slice(0, 3)]) {
    const terms = query.trim();
    const hits =
      terms === '' ? [] : catalogue.search({ query: terms.split(/\s+/).slice(0, 4).join(' '), limit: NEAREST_MAX }).hits;
    if (hits.length > 0) return hits.map(({ entry }) => entry.fullName);
  }
  return [];
}

/** Refuses a server the configuration does not have; `undefined` stands for all of them. */
function needServer<Given extends ServerId | undefined>(host: GatewayHost, server: Given): Given {
  if (server === undefined) return server;
  const ids = host.status().servers.map(({ id }) => id);
  if (ids.includes(server)) return server;
  const hint = `Servers: ${ids.slice(0, 32).join(', ')}`;
  throw supervisorError('UNKNOWN_SERVER', `"server": no server has the id ${JSON.stringify(cutUtf8(server, 64))}`, { hint });
}

async function listAnswer(
  host: GatewayHost,
  field: 'resources' | 'prompts',
  { items, total, nextCursor }: ListingPage,
  server: ServerId | undefined,
  summary: (item: CatalogueListing) => object,
): Promise<GatewayResult> {
  const shown = items.map(summary);
  const more = nextCursor === null ? [] : [`More: again with "cursor": ${JSON.stringify(nextCursor)}`];
  const { note, data } = notListed(host, field, server);
  const text = [`${total} in all`, ...shown.map((item) => JSON.stringify(item)), ...more, ...note].join('\n');
  return bounded(host, answer(text, { [field]: shown, total, nextCursor, ...data }), field);
}

async function bounded({ outputs }: GatewayHost, result: CallResult | GatewayResult, label: string): Promise<GatewayResult> {
  return (await outputs.bound({ ...result }, label)).result;
}
