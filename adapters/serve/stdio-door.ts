import type { Readable, Writable } from 'node:stream';
import { type StdioServerHandle, StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { supervisorError } from '../../actors/errors.js';
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
  /** Settles when the other side is gone; rejects with `MESSAGE_TOO_LARGE` when a message of it was too long to be read on. */
  readonly ended: Promise<void>;
  /** Withdraws what is open and settles when nothing of the door is left. */
  close(): Promise<void>;
}

/** One message of a client; arguments longer than that belong into a file. */
const MESSAGE_BYTES_MAX = 4 * 1_024 * 1_024;
const OPEN_MAX = 64;
/** Written and not read yet; with more than that a client is not read from either. */
const UNREAD_BYTES_MAX = 1_024 * 1_024;
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
  let isClosed = false;
  followPace(transport, options, () => isClosed);
  const ended = new Promise<void>((resolve, reject) => {
    const closed = transport.onclose;
    transport.onclose = () => {
      const isCut = !(isClosed || input.readableEnded || input.destroyed || output.destroyed);
      isClosed = true;
      closed?.();
      calls.close();
      workspace.endSession(SESSION);
      // Nothing else makes the SDK's transport close itself.
      if (isCut) reject(supervisorError('MESSAGE_TOO_LARGE', `a message of the client has more than ${MESSAGE_BYTES_MAX} bytes`));
      else resolve();
    };
  });
  // Who only closes the door need not follow its end.
  ended.catch(() => undefined);
  return {
    ended,
    close: async () => {
      isClosed = true;
      unfollow();
      calls.close();
      await handle.close();
    },
  };
}

/** What a client asks for and does not read would be kept without end. */
function followPace(
  transport: StdioServerTransport,
  { input, output }: Pick<StdioDoorOptions, 'input' | 'output'>,
  isClosed: () => boolean,
): void {
  // The SDK listens anew for every answer that has to wait; how many do is bounded here.
  output.setMaxListeners(0);
  const taken = transport.onmessage;
  transport.onmessage = (message) => {
    taken?.(message);
    if (output.writableLength < UNREAD_BYTES_MAX || input.isPaused()) return;
    input.pause();
    output.once('drain', () => {
      if (!isClosed()) input.resume();
    });
  };
}
