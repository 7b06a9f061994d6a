import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Io } from '../io.js';
import { packageRoot } from '../package-root.js';
import type { Flags } from '../parse.js';
import { withWorkspace } from '../session.js';
import { UsageError } from '../usage-error.js';
import { createLiveView } from './example-live.js';
import { exampleOnce } from './example-once.js';

/** A round has to end by itself, whatever a server does. */
const ONCE_TIMEOUT_MS = 55_000;

/** Supervises the servers of `examples/workspace`, with a state folder of its own that is gone afterwards. */
export async function exampleCommand(io: Io, flags: Flags): Promise<number> {
  const { root } = packageRoot();
  const workspace = join(root, 'examples', 'workspace');
  const userConfig = join(workspace, 'user.mcp.json');
  if ((await stat(userConfig).catch(() => null)) === null) {
    throw new UsageError('"example" runs in a checkout of mcp-supervisor; the package does not carry examples/workspace.');
  }
  const stateDir = await mkdtemp(join(tmpdir(), 'mcp-supervisor-example-'));
  try {
    io.setEnv('MCP_EXAMPLE_SERVERS', join(root, 'node_modules', '@modelcontextprotocol'));
    io.setEnv('MCP_EXAMPLE_WORKSPACE', workspace);
    io.setEnv('MCP_EXAMPLE_STATE', stateDir);
    const own = { ...flags, workspace, userConfig, stateDir };
    if (flags.once) {
      const bounded = { ...own, timeoutMs: flags.timeoutMs ?? ONCE_TIMEOUT_MS };
      return await withWorkspace(io, bounded, { asks: true, discover: false }, exampleOnce);
    }
    const view = createLiveView(io);
    return await withWorkspace(io, own, { asks: true, discover: true, onQuestion: view }, view.run);
  } finally {
    await rm(stateDir, { recursive: true, force: true });
  }
}
