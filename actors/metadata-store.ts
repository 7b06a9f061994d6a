import { isWorkspaceLayer, type LayerName, type ServerId } from '../machines/vocabulary.js';
import { checkedMetadata } from './metadata-check.js';
import type { ClockPort, DbPort, DigestPort, Metadata } from './ports.js';

export interface MetadataStoreDeps {
  readonly db: Pick<DbPort, 'metadata' | 'wasApproved'>;
  readonly digest: DigestPort;
  readonly clock: Pick<ClockPort, 'now' | 'setTimeout'>;
  /** Real path of the workspace. */
  readonly root: string;
}

/** Whose lists these are: one definition of one layer. */
export interface MetadataOwner {
  readonly id: ServerId;
  readonly layer: LayerName;
  readonly configHash: string;
}

/** What a workspace brings along is another thing in every checkout, though its definition reads the same. */
export function metadataKey(
  { layer, configHash }: MetadataOwner,
  { digest, root }: Pick<MetadataStoreDeps, 'digest' | 'root'>,
): string {
  return isWorkspaceLayer(layer) ? digest.ofJson([configHash, root]) : configHash;
}

/** The lists kept of a server, as `keptMetadata` has them, checked. */
export async function readMetadata(owner: MetadataOwner, deps: MetadataStoreDeps): Promise<Metadata | null> {
  const raw = await keptMetadata(owner, deps);
  return raw === null ? null : checkedMetadata(owner.id, raw, deps);
}

/**
 * What the db has of a server, unchecked; `null` where there is nothing, or nothing that may be shown: the lists of a
 * workspace's server only once a person has approved, on this machine, what they were read from. Rejects with `STORE_FAILED`.
 */
export async function keptMetadata(
  owner: MetadataOwner,
  deps: Pick<MetadataStoreDeps, 'db' | 'digest' | 'root'>,
): Promise<Metadata | null> {
  const raw = await deps.db.metadata(metadataKey(owner, deps));
  return raw !== null && (await mayBeShown(owner, raw, deps)) ? raw : null;
}

async function mayBeShown(
  { layer }: MetadataOwner,
  { fingerprint }: Metadata,
  { db }: Pick<MetadataStoreDeps, 'db'>,
): Promise<boolean> {
  if (!isWorkspaceLayer(layer)) return true;
  return typeof fingerprint === 'string' && (await db.wasApproved(fingerprint));
}
