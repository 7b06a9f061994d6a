import { supervisorError } from '../../../actors/errors.js';
import { visibleJson, visibleLine, visibleText } from '../../shared/visible-text.js';
import { EXIT } from '../exit-codes.js';
import { listToolsFor } from '../find-server.js';
import { jsonLine, requireWholeConfig } from '../report.js';
import type { Session } from '../session.js';

/** Prints one tool as its server defines it. Connects the server that the name stands for. */
export async function describeCommand(session: Session, name: string): Promise<number> {
  const { workspace, flags } = session;
  requireWholeConfig(workspace.status());
  await listToolsFor(name, session);
  const tool = workspace.tools().find((listing) => listing.name === name);
  if (tool === undefined) {
    throw supervisorError('UNKNOWN_TOOL', `No tool is called ${visibleLine(name)}.`, {
      hint: 'mcp-supervisor search finds the names.',
    });
  }
  if (flags.json) {
    await session.print(jsonLine(tool));
    return EXIT.done;
  }
  const state = [
    tool.callable ? '' : ', over the limit and not callable',
    tool.cached ? ', not seen in the last listing' : '',
  ].join('');
  await session.print(
    [
      `${visibleLine(tool.name)} (${visibleLine(tool.tool)} on ${visibleLine(tool.server)}${state})`,
      visibleText(tool.description),
      visibleJson(tool.inputSchema),
      '',
    ].join('\n'),
  );
  return EXIT.done;
}
