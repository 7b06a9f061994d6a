import { visibleText } from '../../shared/visible-text.js';
import { EXIT } from '../exit-codes.js';
import { howToOpenInExample } from '../how-to-open.js';
import type { ServerStatus, WorkspaceStatus } from '../library.js';
import { renderStatus } from '../render-status.js';
import { gatewayText, isConfigRejected } from '../report.js';
import type { Session } from '../session.js';

const USER_SERVERS = ['everything', 'filesystem', 'memory'] as const;
const PROJECT_SERVER = 'project';
const TOOL = 'mcp__filesystem__list_directory';

/** One round on real servers: the table, a search, a description, a call. Exit 0 only if all of it worked. */
export async function exampleOnce(session: Session): Promise<number> {
  const { workspace, colour } = session;
  const status = await session.connectAll();
  await session.print(`${renderStatus(status, workspace.questions(), { colour, howToOpen: howToOpenInExample }).join('\n')}\n`);

  const down = serversNotAsTheyShould(status, session.flags.trust);
  const failed = await walkGateway(session);
  const problems = [...down, ...failed];
  await session.print(problems.length === 0 ? '\nAll of it worked.\n' : '');
  await session.complain(problems.map((problem) => `${visibleText(problem)}\n`).join(''));
  if (isConfigRejected(status)) return EXIT.configRejected;
  if (down.length > 0) return EXIT.notAvailable;
  return failed.length > 0 ? EXIT.failed : EXIT.done;
}

/** The user's servers are ready; the project's waits behind a gate, unless this run has opened it. */
function serversNotAsTheyShould({ servers }: WorkspaceStatus, mayBeOpen: boolean): string[] {
  const byId = new Map(servers.map((server) => [server.id, server]));
  const notReady = USER_SERVERS.flatMap((id) => faultOf(id, byId.get(id)));
  const project = byId.get(PROJECT_SERVER);
  if (project === undefined) return [...notReady, `${PROJECT_SERVER} is not there.`];
  const isShut = project.phase === 'idle' && project.blockedBy !== null && howToOpenInExample(project) !== null;
  const isFine = isShut || (mayBeOpen && project.phase !== 'failed' && project.phase !== 'backoff');
  return isFine ? notReady : [...notReady, `${PROJECT_SERVER} should wait behind a shut gate and is ${project.phase}.`];
}

/** A server that is up and whose tools are not all known, or that has none, is of no use to anybody. */
function faultOf(id: string, server: ServerStatus | undefined): string[] {
  if (server?.phase !== 'ready') return [`${id} is not ready.`];
  const { state, count } = server.tools;
  return state === 'complete' && count > 0 ? [] : [`${id} is ready, but its list of tools is ${state} with ${count} in it.`];
}

/** What a model would do with the one tool that it has. */
async function walkGateway(session: Session): Promise<string[]> {
  const requests = [
    { action: 'search', query: 'list directory' },
    { action: 'describe', name: TOOL },
    { action: 'call', name: TOOL, args: { path: session.workspace.root } },
  ];
  const problems: string[] = [];
  for (const request of requests) {
    const result = await session.inTime(session.workspace.gateway.run(request, { signal: session.deadline.signal }));
    const text = gatewayText(result);
    await session.print(`\nmcp ${JSON.stringify(request)}\n${visibleText(text)}\n`);
    if (result.isError === true) problems.push(`${request.action} failed: ${text}`);
    else if (text === '') problems.push(`${request.action} answered nothing.`);
  }
  return problems;
}
