import { join } from 'node:path';
import type { Supervisor, SupervisorOptions } from './actors/api.js';
import { supervisorError } from './actors/errors.js';
import type { LogPort, Ports } from './actors/ports.js';
import { redactedLog } from './actors/redacted-ports.js';
import { createSupervisor as createCore, ProcessPool } from './actors/supervisor.js';
import { createFileConfig } from './adapters/config/file-config.js';
import { createGrantsFile } from './adapters/config/grants-file.js';
import { defaultPaths, type SupervisorPaths } from './adapters/default-paths.js';
import { createHttpPort } from './adapters/http/guarded-http.js';
import { linearRegex } from './adapters/linear-regex.js';
import { createLinkPort } from './adapters/links/link-port.js';
import { EraMemory } from './adapters/links/negotiation.js';
import { clientEngine } from './adapters/links/sdk-session.js';
import { sdkV1Engine } from './adapters/links/sdk-v1.js';
import type { Engine } from './adapters/links/session.js';
import { createNodeDigest } from './adapters/node-digest.js';
import { createNodeProcessPort } from './adapters/node-process.js';
import { createPrivateFiles } from './adapters/private-files.js';
import { realPath } from './adapters/real-path.js';
import { createRedaction } from './adapters/shared/redaction.js';
import { createAuditLog } from './adapters/state/audit-log.js';
import { createStateDb } from './adapters/state/state-db.js';
import { type AuditReport, verifyAudit as verifyAuditOf } from './adapters/state/verify-audit.js';
import { systemClock } from './adapters/system-clock.js';
import { systemRandom } from './adapters/system-random.js';
import { createVet } from './adapters/vet/vet.js';

export type * from './actors/api.js';
export { CODES, type Code, type Failure, type Stage, SupervisorError } from './actors/errors.js';
export type { SupervisorPaths } from './adapters/default-paths.js';
export type { AuditProblem, AuditRecord, AuditReport } from './adapters/state/verify-audit.js';

/** One set of live connections and running workspaces for the whole process, however many supervisors it has. */
const pool = new ProcessPool(systemClock);
const silent: LogPort = { write: () => undefined };
const engines = new Map<unknown, Engine>([
  ['client', clientEngine],
  ['sdk', sdkV1Engine],
  [sdkV1Engine, sdkV1Engine],
]);

export interface NodeSupervisorOptions extends SupervisorOptions {
  readonly paths?: SupervisorPaths;
  /**
   * Which line of the official SDK greets the servers. `client` (default) is `@modelcontextprotocol/client`, which speaks both
   * protocol eras; `sdk`, or `sdkV1Engine` of `mcp-supervisor/sdk-v1`, is `@modelcontextprotocol/sdk` 1.x, for hosts that must
   * stay on it: they install it themselves (else `ENGINE_MISSING`), and a server of the current era alone fails with
   * `ERA_NEGOTIATION_FAILED`.
   */
  readonly engine?: 'client' | 'sdk' | typeof sdkV1Engine;
}

/**
 * A supervisor on this machine's files, processes, sockets and clock: the composition root. It reads nothing and starts
 * nothing before the first `openWorkspace`, and leaves nothing behind after `close`. Throws `INVALID_ARGUMENTS` for an engine
 * it does not know.
 */
export function createSupervisor(options: NodeSupervisorOptions = {}): Supervisor {
  const { userConfig, stateDir, hostDir } = defaultPaths(options.paths ?? {}, process.env);
  const { engine: engineName = 'client' } = options;
  const redaction = createRedaction();
  const log = redactedLog(options.log ?? silent, redaction);
  const engine = engines.get(engineName);
  if (engine === undefined) throw supervisorError('INVALID_ARGUMENTS', '"engine" is neither "client" nor "sdk"');
  const digest = createNodeDigest();
  const processes = createNodeProcessPort();
  const http = createHttpPort({ env: process.env });
  const db = createStateDb({ dir: stateDir, clock: systemClock, log });
  const ports: Ports = {
    clock: systemClock,
    random: systemRandom,
    digest,
    fs: createPrivateFiles({ dir: join(stateDir, 'spill') }),
    db,
    config: createFileConfig({ userConfigFile: userConfig, hostDir, env: process.env, clock: systemClock, digest }),
    vet: createVet({ env: process.env, digest, marker: systemRandom.nonce(), salt: () => db.salt() }),
    link: createLinkPort({ process: processes, http, clock: systemClock, eras: new EraMemory(db), engine }),
    grants: createGrantsFile({ hostDir }),
    // What a host takes itself is not kept twice.
    ...(options.audit === undefined
      ? { audit: createAuditLog({ dir: stateDir, clock: systemClock, digest, nonce: () => systemRandom.nonce(), log }) }
      : {}),
    log,
    redaction,
    regex: linearRegex,
    realPath,
    close: async () => {
      await Promise.all([processes.closeAll(), http.close()]);
    },
  };
  return createCore({ ...options, ports, pool });
}

/**
 * Checks the audit that the supervisors of this computer keep in the state directory: `problems` is empty when no line of it was
 * changed, removed, added or moved. Changes nothing; rejects with the system's error when it cannot be read.
 */
export function verifyAudit(paths: Pick<SupervisorPaths, 'stateDir'> = {}): Promise<AuditReport> {
  return verifyAuditOf(defaultPaths(paths, process.env).stateDir, createNodeDigest());
}
