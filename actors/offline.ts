import { type CandidateVerdict, decideCandidates, switchKey } from '../machines/candidates.js';
import { type CandidateKey, failure, type ServerId } from '../machines/vocabulary.js';
import type { Gateway, ToolListing, WorkspaceStatus } from './api.js';
import { Catalogue } from './catalogue.js';
import { type JudgedConfig, judgeConfig, toolLimitOf } from './configuration.js';
import { SupervisorError, supervisorError } from './errors.js';
import { createGateway } from './gateway.js';
import { readMetadata } from './metadata-store.js';
import { offlineStatus } from './offline-status.js';
import { createOutputs } from './outputs.js';
import type { ClockPort, ConfigPort, DbPort, DigestPort, FsPort, PluginLayer, Ports } from './ports.js';
import { redactedReader } from './redacted-ports.js';
import { shownBy } from './served-candidates.js';

export interface OfflinePorts extends Pick<Ports, 'regex' | 'realPath' | 'redaction'> {
  readonly clock: Pick<ClockPort, 'now' | 'setTimeout'>;
  readonly config: Pick<ConfigPort, 'read'>;
  readonly db: Pick<DbPort, 'trusted' | 'switches' | 'metadata' | 'wasApproved'>;
  readonly digest: DigestPort;
}

export interface OfflineOptions {
  /** The host's word on trust. Absent: what this machine remembers. */
  readonly trusted?: boolean;
  /** Switched on for this look only. */
  readonly enable?: readonly ServerId[];
  /** Fingerprints that count as approved for this look. */
  readonly approved?: readonly string[];
  readonly plugins?: readonly PluginLayer[];
}

/** A workspace as it is known without any of its servers: nothing was started, and nothing has to be closed. */
export interface OfflineWorkspace {
  readonly root: string;
  readonly status: WorkspaceStatus;
  /** One tool by its exact full name; always a cached one. */
  readonly tool: (name: string) => ToolListing | undefined;
  /** Searches and describes as a running workspace does; what needs a server fails with `NOT_READY`. */
  readonly gateway: Omit<Gateway, 'tools' | 'watchTools'>;
}

/**
 * Reads configuration, decisions and kept lists once. What a running workspace would find before any of its servers has
 * started is found here. Rejects with `CONFIG_UNREADABLE` for a root that is none and `STORE_FAILED` when the state cannot be read.
 */
export async function openOffline(path: string, ports: OfflinePorts, options: OfflineOptions = {}): Promise<OfflineWorkspace> {
  const root = await (ports.realPath?.(path) ?? path);
  const { plugins } = options;
  const [readings, remembered, switches] = await Promise.all([
    redactedReader(ports.config, ports.redaction)(plugins === undefined ? { root } : { root, plugins }),
    ports.db.trusted(root),
    ports.db.switches(),
  ]);
  const trusted = options.trusted ?? remembered ?? false;
  const judged = judgeConfig(readings, { isTrusted: trusted, hasRuntime: false });
  const remoteEnabled = judged.settings?.remoteEnabled ?? false;
  const switchedOn = judged.candidates.filter(({ id }) => options.enable?.includes(id)).map((one) => switchKey(one, root));
  const facts = {
    root,
    trusted,
    remoteEnabled,
    switches: new Map([...switches, ...switchedOn.map((key) => [key, true] as const)]),
    // Whether a workspace's server is what was approved is seen by a look at its files, before it starts.
    approved: () => false,
  };
  const verdicts = decideCandidates(judged.candidates, facts);
  const catalogue = new Catalogue({ digest: ports.digest });
  await fill(catalogue, judged, verdicts, { ...ports, root, db: withApproved(ports.db, options.approved ?? []) });
  const status = offlineStatus(judged, verdicts, facts, catalogue);
  return {
    root,
    status,
    tool: (name) => catalogue.tool(name)?.listing(),
    gateway: createGateway({
      catalogue,
      outputs: createOutputs({ fs: noFiles }),
      ...(ports.regex === undefined ? {} : { regex: ports.regex }),
      turn: () => new Promise((resolve) => void ports.clock.setTimeout(resolve, 0)),
      status: () => status,
      call: (name) => Promise.reject(notRunning(name)),
      request: (server) => Promise.reject(notRunning(server)),
    }),
  };
}

async function fill(
  catalogue: Catalogue,
  { candidates, definitions, settings }: JudgedConfig,
  verdicts: ReadonlyMap<CandidateKey, CandidateVerdict>,
  deps: Parameters<typeof readMetadata>[1],
): Promise<void> {
  for (const shown of shownBy({ candidates, verdicts })) {
    const metadata = await readMetadata(shown, deps);
    catalogue.setApproved(shown.id, shown.isServing);
    if (metadata !== null) catalogue.load(shown.id, metadata, toolLimitOf(definitions.get(shown.key), settings));
  }
}

const withApproved = (db: OfflinePorts['db'], fingerprints: readonly string[]): Parameters<typeof readMetadata>[1]['db'] => ({
  metadata: (key) => db.metadata(key),
  wasApproved: async (fingerprint) => fingerprints.includes(fingerprint) || db.wasApproved(fingerprint),
});

const notRunning = (what: string): SupervisorError =>
  new SupervisorError(failure('NOT_READY', `"${what}" cannot be reached: nothing is started here`));

/** A look into what is kept leaves no file behind. */
const noFiles: FsPort = {
  writeSpill: () => Promise.reject(supervisorError('SPILL_FAILED', 'nothing is written here')),
  readSpill: () => Promise.reject(supervisorError('INVALID_ARGUMENTS', 'nothing was written here')),
  close: () => Promise.resolve(),
};
