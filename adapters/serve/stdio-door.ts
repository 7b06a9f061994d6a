import type { Readable, Writable } from 'node:stream';
import { type StdioServerHandle, StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { ClockPort } from '../../actors/ports.js';
import { createMcpServer } from './mcp-server.js';
import { OpenCalls } from './open-calls.js';
import type { Surface } from './served-workspace.js';
import { followTools } from './tool-changes.js';

export interface StdioDoorOptions extends Surface {
  readonly input: Readable;
  readonly output: Writable;
  readonly clock: ClockPort;
  readonly nonce: () => string;
}

export interface Door {
  /** Settles when the other side is gone; never of a door that only `close` ends. */
  readonly ended: Promise<void>;
  /** Withdraws what is open and settles when nothing of the door is left. */
  close(): Promise<void>;
}

/** One message of a client; arguments longer than that belong into a file. */
const MESSAGE_BYTES_MAX = 4 * 1_024 * 1_024;
const OPEN_MAX = 64;
const SESSION = 'stdio';

/** Serves the one client at the other end of two pipes, in whichever era it speaks. Nothing but its messages is written. */
export function openStdioDoor(options: StdioDoorOptions): Door {
  const { workspace, input, output, clock, nonce, isDirect } = options;
  const calls = new OpenCalls({
    run: (request, runOptions) => workspace.gateway.run(request, runOptions),
    nonce,
    now: () => clock.now(),
    openMax: OPEN_MAX,
  });
  let announce: () => void = () => undefined;
  const transport = new StdioServerTransport(input, output, { maxBufferSize: MESSAGE_BYTES_MAX });
  const handle: StdioServerHandle = serveStdio(
    ({ era }) => {
      const mcp = createMcpServer(options, { era, calls, session: SESSION });
      // A client that is asked for its era first gets a second instance; the last one is the one it keeps.
      announce = () => mcp.sendToolListChanged();
      return mcp;
    },
    { transport },
  );
  const unfollow = isDirect ? followTools(workspace, clock, () => announce()) : () => undefined;
  const ended = new Promise<void>((resolve) => {
    const closed = transport.onclose;
    transport.onclose = () => {
      closed?.();
      calls.close();
      workspace.endSession(SESSION);
      resolve();
    };
  });
  return {
    ended,
    close: async () => {
      unfollow();
      calls.close();
      await handle.close();
    },
  };
}
