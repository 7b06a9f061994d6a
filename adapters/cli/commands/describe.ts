import { supervisorError } from '../../../actors/errors.js';
import { visibleJson, visibleLine, visibleText } from '../../shared/visible-text.js';
import { EXIT } from '../exit-codes.js';
import { serversNamedIn } from '../full-name.js';
import { type Io, write } from '../io.js';
import type { ServerStatus } from '../library.js';
import { withOffline } from '../offline.js';
import type { Flags } from '../parse.js';
import { jsonLine } from '../report.js';

/** Prints one tool as its server defined it when it was last listed, and starts nothing. */
export function describeCommand(io: Io, flags: Flags, [name = '']: readonly string[]): Promise<number> {
  return withOffline(io, flags, async (workspace) => {
    const tool = workspace.tool(name);
    if (tool === undefined) throw whyUnknown(name, workspace.status.servers);
    if (flags.json) {
      await write(io.stdout, jsonLine(tool));
      return EXIT.done;
    }
    const state = `, as last listed${tool.callable ? '' : ', not callable'}`;
    await write(
      io.stdout,
      [
        `${visibleLine(tool.name)} (${visibleLine(tool.tool)} on ${visibleLine(tool.server)}${state})`,
        visibleText(tool.description),
        visibleJson(tool.inputSchema),
        '',
      ].join('\n'),
    );
    return EXIT.done;
  });
}

/** A full name tells whose tool it is: a shut gate, and a server that was never listed, are told as what they are. */
function whyUnknown(name: string, servers: readonly ServerStatus[]): Error {
  const ids = serversNamedIn(
    name,
    servers.map(({ id }) => id),
  );
  const owners = servers.filter(({ id }) => ids.includes(id));
  const isKnown = owners.some(({ blockedBy, tools }) => blockedBy === null && tools.state !== 'unknown');
  const [owner] = owners;
  if (owner === undefined || isKnown) {
    return supervisorError('UNKNOWN_TOOL', `No tool is called ${visibleLine(name)}.`, {
      hint: 'mcp-supervisor search finds the names.',
    });
  }
  if (owner.error !== null) {
    const { code, message, hint } = owner.error;
    return supervisorError(code, message, hint === undefined ? {} : { hint });
  }
  return supervisorError('NOT_READY', `The tools of ${owner.id} are not listed yet.`, {
    hint: `mcp-supervisor test ${owner.id} lists them.`,
  });
}
