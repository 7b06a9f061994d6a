import { visibleText } from '../../shared/visible-text.js';
import { EXIT, exitCodeOf } from '../exit-codes.js';
import { howToOpen } from '../how-to-open.js';
import { type Io, write } from '../io.js';
import type { ServerStatus } from '../library.js';
import { withOffline } from '../offline.js';
import type { Flags } from '../parse.js';
import { failureJson, failureText, gatewayFailure, gatewayText, jsonLine } from '../report.js';

/**
 * Ranks the tools that were listed before, and starts nothing. Says which servers nothing is known of; exit 4 when that is
 * all of them.
 */
export function searchCommand(io: Io, flags: Flags, operands: readonly string[]): Promise<number> {
  return withOffline(io, flags, async ({ gateway, status: { servers } }) => {
    const result = await gateway.run({ action: 'search', query: operands.join(' ') });
    const problem = gatewayFailure(result);
    if (problem !== null) {
      if (flags.json) await write(io.stdout, jsonLine({ ok: false, error: failureJson(problem) }));
      else await write(io.stderr, failureText(problem));
      return exitCodeOf(problem);
    }
    const missed = servers.filter(isMissed);
    if (flags.json) {
      const notSearched = missed.map((server) => ({ id: server.id, why: server.blockedBy ?? NOT_LISTED }));
      await write(io.stdout, jsonLine({ ...(result.structuredContent ?? { text: gatewayText(result) }), notSearched }));
    } else {
      await write(io.stdout, `${visibleText(gatewayText(result))}\n`);
      await write(
        io.stderr,
        notesOn(missed)
          .map((note) => `${visibleText(note)}\n`)
          .join(''),
      );
    }
    return servers.length > 0 && missed.length === servers.length ? EXIT.notAvailable : EXIT.done;
  });
}

const NOT_LISTED = 'not listed yet';

/** Behind a shut gate, or never listed. */
const isMissed = ({ blockedBy, tools }: ServerStatus): boolean => blockedBy !== null || tools.state === 'unknown';

function notesOn(missed: readonly ServerStatus[]): readonly string[] {
  const shut = missed.filter(({ blockedBy }) => blockedBy !== null);
  const unknown = missed.filter(({ blockedBy }) => blockedBy === null).map(({ id }) => id);
  return [
    ...shut.map((server) => `not searched: ${server.id} (${String(server.blockedBy)}). ${howToOpen(server) ?? ''}`.trimEnd()),
    ...(unknown.length === 0
      ? []
      : [`not searched: ${unknown.join(', ')} (${NOT_LISTED}). mcp-supervisor status --connect lists what is enabled.`]),
  ];
}
