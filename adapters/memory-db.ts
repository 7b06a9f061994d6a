import type { CredentialOrigin, DbPort, Metadata } from '../actors/ports.js';
import type { Era } from '../machines/vocabulary.js';

/** State for as long as the process lives: nothing is written, nothing survives, nobody else sees it. */
export function createMemoryDb(): DbPort {
  const trust = new Map<string, boolean>();
  const switches = new Map<string, boolean>();
  const metadata = new Map<string, Metadata>();
  const eras = new Map<string, Era>();
  const approved = new Set<string>();
  const grants = new Map<string, Map<string, Set<string>>>();
  const credentials = new Map<string, ReadonlyMap<string, CredentialOrigin>>();
  const done = (_change: unknown): Promise<void> => Promise.resolve();
  return {
    trusted: (root) => Promise.resolve(trust.get(root) ?? null),
    setTrusted: (root, trusted) => done(trust.set(root, trusted)),
    switches: () => Promise.resolve(new Map(switches)),
    setSwitch: (key, on) => done(switches.set(key, on)),
    metadata: (key) => Promise.resolve(metadata.get(key) ?? null),
    saveMetadata: (key, lists) => done(metadata.set(key, lists)),
    era: (configHash) => Promise.resolve(eras.get(configHash) ?? null),
    saveEra: (configHash, era) => done(era === null ? eras.delete(configHash) : eras.set(configHash, era)),
    wasApproved: (fingerprint) => Promise.resolve(approved.has(fingerprint)),
    saveApproved: (fingerprint) => done(approved.add(fingerprint)),
    grants: (root) => Promise.resolve(new Map([...(grants.get(root) ?? [])].map(([tool, digests]) => [tool, new Set(digests)]))),
    saveGrant: (root, tool, digest) => {
      const ofRoot = grants.get(root) ?? new Map<string, Set<string>>();
      return done(grants.set(root, ofRoot.set(tool, (ofRoot.get(tool) ?? new Set()).add(digest))));
    },
    forgetGrants: (root, tools) => done(tools.map((tool) => grants.get(root)?.delete(tool))),
    credentials: (owner) => Promise.resolve(credentials.get(owner) ?? new Map()),
    saveCredentials: (owner, origins) => done(credentials.set(owner, new Map(origins))),
    salt: () => Promise.resolve('in memory'),
    watch: () => ({ close: () => Promise.resolve() }),
    close: () => Promise.resolve(),
  };
}
