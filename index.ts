import { join } from 'node:path';
import type { Supervisor, SupervisorOptions } from './actors/api.js';
import type { LogPort, Ports } from './actors/ports.js';
import { createSupervisor as createCore, ProcessPool } from './actors/supervisor.js';
import { createFileConfig } from './adapters/config/file-config.js';
import { defaultPaths, type SupervisorPaths } from './adapters/default-paths.js';
import { linearRegex } from './adapters/linear-regex.js';
import { EraMemory } from './adapters/links/negotiation.js';
import { createStdioLinkPort } from './adapters/links/stdio-link.js';
import { createMemoryDb } from './adapters/memory-db.js';
import { createNodeDigest } from './adapters/node-digest.js';
import { createNodeProcessPort } from './adapters/node-process.js';
import { createPrivateFiles } from './adapters/private-files.js';
import { realPath } from './adapters/real-path.js';
import { systemClock } from './adapters/system-clock.js';
import { systemRandom } from './adapters/system-random.js';
import { createVet } from './adapters/vet/vet.js';

export type * from './actors/api.js';
export { CODES, type Code, type Failure, type Stage, SupervisorError } from './actors/errors.js';
export type { SupervisorPaths } from './adapters/default-paths.js';

/** One set of live connections and running workspaces for the whole process, however many supervisors it has. */
const pool = new ProcessPool(systemClock);
/** Which servers are of the older protocol era: known after their first handshake in this process, and not asked again. */
const eras = new EraMemory();
const silent: LogPort = { write: () => undefined };

/**
 * A supervisor on this machine's files, processes and clock: the composition root. It reads nothing and starts nothing
 * before the first `openWorkspace`, and leaves nothing behind after `close`.
 */
export function createSupervisor(options: SupervisorOptions & { readonly paths?: SupervisorPaths } = {}): Supervisor {
  const { userConfig, stateDir, hostDir } = defaultPaths(options.paths ?? {}, process.env);
  const digest = createNodeDigest();
  const processes = createNodeProcessPort();
  const ports: Ports = {
    clock: systemClock,
    random: systemRandom,
    digest,
    fs: createPrivateFiles({ dir: join(stateDir, 'spill') }),
    db: createMemoryDb(),
    config: createFileConfig({ userConfigFile: userConfig, hostDir, env: process.env, clock: systemClock, digest }),
    vet: createVet({ env: process.env, digest, marker: systemRandom.nonce() }),
    link: createStdioLinkPort({ process: processes, clock: systemClock, eras }),
    log: options.log ?? silent,
    regex: linearRegex,
    realPath,
    close: () => processes.closeAll(),
  };
  return createCore({ ...options, ports, pool });
}
