import { type OfflineWorkspace, openOffline } from '../../actors/offline.js';
import { createFileConfig } from '../config/file-config.js';
import { defaultPaths } from '../default-paths.js';
import { createNodeDigest } from '../node-digest.js';
import { realPath } from '../real-path.js';
import { createRedaction } from '../shared/redaction.js';
import { quoted } from '../shared/visible-text.js';
import { createStateDb } from '../state/state-db.js';
import { systemClock } from '../system-clock.js';
import { createDeadline } from './deadline.js';
import { type Io, unlessAborted, write } from './io.js';
import type { Flags } from './parse.js';
import { directory, pathsFrom } from './places.js';
import { requireWholeConfig } from './report.js';

export type { OfflineWorkspace };

/**
 * Gives the body the workspace as this machine remembers it, and lets go of the state afterwards. Starts nothing and loads
 * nothing that a running server would need. Rejects as opening a workspace does, and with `Interrupted` or `NOT_READY` when a
 * signal or `--timeout` comes first.
 */
export async function withOffline(io: Io, flags: Flags, body: (workspace: OfflineWorkspace) => Promise<number>): Promise<number> {
  const root = await directory(io, flags);
  const { userConfig, stateDir, hostDir } = defaultPaths(await pathsFrom(io, flags), io.env);
  const digest = createNodeDigest();
  const db = createStateDb({ dir: stateDir, clock: systemClock });
  const config = createFileConfig({ userConfigFile: userConfig, hostDir, env: io.env, clock: systemClock, digest });
  const deadline = createDeadline(flags.timeoutMs);
  try {
    const opening = openOffline(
      root,
      { clock: systemClock, config, db, digest, realPath, redaction: createRedaction() },
      { ...(flags.trust ? { trusted: true } : {}), enable: flags.enable, approved: flags.approve },
    );
    const workspace = await unlessAborted(AbortSignal.any([deadline.signal, io.interrupted]), opening);
    await warnOfUnknown(io, flags, workspace);
    requireWholeConfig(workspace.status);
    return await unlessAborted(io.interrupted, body(workspace));
  } finally {
    deadline.end();
    await db.close();
  }
}

/** A switch for a server that is not there is a slip of the pen; said, not refused. */
async function warnOfUnknown(io: Io, { enable }: Flags, { status }: OfflineWorkspace): Promise<void> {
  const known = new Set(status.servers.map(({ id }) => id));
  const unknown = enable.filter((id) => !known.has(id));
  await write(io.stderr, unknown.map((id) => `warning: --enable ${quoted(id)}: no server has this id.\n`).join(''));
}
