import type { ConfigFault, Question } from '../../actors/ports.js';
import type { ListState, Phase } from '../../machines/vocabulary.js';
import { quoted, visibleLine } from '../shared/visible-text.js';
import { renderQuestion } from './approval-card.js';
import { howToOpen } from './how-to-open.js';
import type { ServerStatus, WorkspaceStatus } from './library.js';
import { type Cell, type Colour, type Column, paint, renderTable } from './render-table.js';

const COLUMNS: readonly Column[] = [
  { name: 'SERVER' },
  { name: 'LAYER' },
  { name: 'PHASE' },
  { name: 'TOOLS', align: 'right' },
  { name: 'RESOURCES', align: 'right' },
  { name: 'PROMPTS', align: 'right' },
  { name: 'PID', align: 'right' },
  { name: 'GEN', align: 'right' },
  { name: 'WHY' },
];
const COLOURS: Readonly<Record<Phase, Colour>> = {
  idle: 'dim',
  approving: 'yellow',
  connecting: 'yellow',
  ready: 'green',
  backoff: 'yellow',
  failed: 'red',
};

/** How a status is shown; `howToOpen` where a gate is opened in another way than by the commands. */
export interface StatusStyle {
  readonly colour: boolean;
  readonly howToOpen?: (server: ServerStatus) => string | null;
}

/** The status for people: the workspace, its faults, the table, what each shut gate needs, and the open questions. */
export function renderStatus(status: WorkspaceStatus, questions: readonly Question[], options: StatusStyle): string[] {
  const cards = questions.flatMap((question) => ['', ...renderQuestion(question)]);
  return [
    ...renderHead(status, options.colour),
    '',
    ...renderServers(status.servers, options),
    ...renderNotes(status.servers, options.howToOpen ?? howToOpen),
    ...cards,
  ];
}

function renderHead(
  { workspace: { root, trusted, remoteEnabled, config, warnings } }: WorkspaceStatus,
  colour: boolean,
): string[] {
  const facts = [
    `workspace ${quoted(root)}`,
    trusted ? 'trusted' : 'not trusted',
    `remote ${remoteEnabled ? 'on' : 'off'}`,
    `config ${config.state}`,
  ];
  return [
    facts.join(' · '),
    ...config.errors.map((fault) => paint(`error: ${renderFault(fault)}`, 'red', colour)),
    ...config.warnings.map((fault) => paint(`warning: ${renderFault(fault)}`, 'yellow', colour)),
    ...warnings.map((warning) => paint(`warning: ${visibleLine(warning)}`, 'yellow', colour)),
  ];
}

/** `file:line:column key: message (CODE)`. */
export function renderFault({ file, line, column, key, message, code }: ConfigFault): string {
  const place = line === null ? '' : `:${line}${column === null ? '' : `:${column}`}`;
  return visibleLine(`${file}${place} ${key === '' ? '' : `${key}: `}${message} (${code})`);
}

export function renderServers(servers: readonly ServerStatus[], options: { readonly colour: boolean }): string[] {
  if (servers.length === 0) return ['No server is configured.'];
  return renderTable(COLUMNS, servers.map(serverRow), options);
}

function serverRow(server: ServerStatus): Cell[] {
  return [
    { text: server.id },
    { text: server.layer },
    { text: server.phase, colour: COLOURS[server.phase] },
    { text: count(server.tools) },
    { text: count(server.resources) },
    { text: count(server.prompts) },
    { text: server.pid === null ? '-' : String(server.pid) },
    { text: String(server.generation) },
    { text: whyNotReady(server) },
  ];
}

/** One server on one line, with what to do about it, where there is no screen to redraw. */
export function renderServerLine(server: ServerStatus, wayOf: NonNullable<StatusStyle['howToOpen']> = howToOpen): string {
  const why = whyNotReady(server);
  const way = server.blockedBy === null && server.phase !== 'approving' && server.phase !== 'failed' ? null : wayOf(server);
  const tools =
    server.phase === 'ready' ? `${count(server.tools)} tools, pid ${server.pid ?? '-'}, generation ${server.generation}` : '';
  return visibleLine([server.id, server.phase, why, tools, way ?? ''].filter((part) => part !== '').join('  '));
}

/** `14`, `14+` for a list known in part, `?` for one that could not be read, `-` for none. */
function count({ state, count: known }: ListState): string {
  switch (state) {
    case 'complete':
      return String(known);
    case 'truncated':
      return `${known}+`;
    case 'failed':
      return known === 0 ? '?' : `${known}?`;
    case 'unknown':
    case 'unsupported':
      return '-';
  }
}

/** The gate, the step it is at, or the code of what went wrong. */
function whyNotReady({ phase, blockedBy, stage, error, tools }: ServerStatus): string {
  if (blockedBy !== null) return error === null || blockedBy !== 'refused' ? blockedBy : `refused: ${error.code}`;
  if (phase === 'approving') return 'waits for an approval';
  if (error !== null && phase !== 'ready') return stage === null ? error.code : `${stage}: ${error.code}`;
  if (stage !== null && phase !== 'ready') return stage;
  return tools.reason === null ? '' : `tools: ${tools.reason.code}`;
}

/** A line for every server that a person can do something about or has to know something of. */
function renderNotes(servers: readonly ServerStatus[], wayOf: NonNullable<StatusStyle['howToOpen']>): string[] {
  const notes = servers.flatMap((server) => {
    const problem = server.error === null || server.phase === 'ready' ? [] : [server.error.message];
    const way = wayOf(server);
    const help = way === null || problem.includes(way) ? [] : [way];
    const skipped = server.tools.skipped.length;
    const left = skipped === 0 ? [] : [`${skipped} tool${skipped === 1 ? '' : 's'} left out: ${skippedNames(server)}.`];
    return [...problem, ...help, ...left, ...server.warnings].map((line) => visibleLine(`${server.id}: ${line}`));
  });
  return notes.length === 0 ? [] : ['', ...notes];
}

function skippedNames({ tools }: ServerStatus): string {
  const shown = tools.skipped.slice(0, 10).map(({ name, code }) => `${name} (${code})`);
  return shown.join(', ') + (tools.skipped.length > shown.length ? ', …' : '');
}
