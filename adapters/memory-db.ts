import type { DbPort, Metadata } from '../actors/ports.js';

/** State for as long as the process lives: nothing is written, nothing survives. */
export function createMemoryDb(): DbPort {
  const trust = new Map<string, boolean>();
  const switches = new Map<string, boolean>();
  const metadata = new Map<string, Metadata>();
  return {
    trusted: (root) => Promise.resolve(trust.get(root) ?? null),
    setTrusted: (root, trusted) => {
      trust.set(root, trusted);
      return Promise.resolve();
    },
    switches: () => Promise.resolve(new Map(switches)),
    setSwitch: (key, on) => {
      switches.set(key, on);
      return Promise.resolve();
    },
    metadata: (configHash) => Promise.resolve(metadata.get(configHash) ?? null),
    saveMetadata: (configHash, lists) => {
      metadata.set(configHash, lists);
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
  };
}
