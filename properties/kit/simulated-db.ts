import { supervisorError } from '../../actors/errors.js';
import type { DbPort } from '../../actors/ports.js';
import { createMemoryDb } from '../../adapters/memory-db.js';
import type { InFlight } from './in-flight.js';

/** State that is read and written when a schedule says so, and fails when it says so. */
export class SimulatedDb {
  /** A full disk, or a lock that nobody gives back. */
  isFailing = false;
  readonly #memory = createMemoryDb();
  readonly #watchers = new Set<() => void>();
  readonly port: DbPort;

  constructor(inFlight: InFlight) {
    const slowly = <A extends unknown[], T>(name: string, work: (...args: A) => Promise<T>) => {
      return async (...args: A): Promise<T> => {
        await inFlight.promise(`the state: ${name}`, (luck) => {
          if (this.isFailing || luck > 0.8) throw supervisorError('STORE_FAILED', 'the disk is full (ENOSPC)');
        });
        return work(...args);
      };
    };
    const memory = this.#memory;
    this.port = {
      trusted: slowly('trust', (root: string) => memory.trusted(root)),
      setTrusted: slowly('set trust', (root: string, trusted: boolean) => memory.setTrusted(root, trusted)),
      switches: slowly('switches', () => memory.switches()),
      setSwitch: slowly('set a switch', (key: string, on: boolean) => memory.setSwitch(key, on)),
      metadata: slowly('lists', (key: string) => memory.metadata(key)),
      saveMetadata: slowly('save lists', (key: string, lists: Parameters<DbPort['saveMetadata']>[1]) =>
        memory.saveMetadata(key, lists),
      ),
      era: slowly('era', (hash: string) => memory.era(hash)),
      saveEra: slowly('save an era', (hash: string, era: Parameters<DbPort['saveEra']>[1]) => memory.saveEra(hash, era)),
      wasApproved: slowly('approval', (fingerprint: string) => memory.wasApproved(fingerprint)),
      saveApproved: slowly('save an approval', (fingerprint: string) => memory.saveApproved(fingerprint)),
      grants: slowly('grants', (root: string) => memory.grants(root)),
      saveGrant: slowly('save a grant', (...grant: Parameters<DbPort['saveGrant']>) => memory.saveGrant(...grant)),
      forgetGrants: slowly('forget grants', (root: string, tools: readonly string[]) => memory.forgetGrants(root, tools)),
      credentials: slowly('credentials', (owner: string) => memory.credentials(owner)),
      saveCredentials: slowly('save credentials', (owner: string, all: Parameters<DbPort['saveCredentials']>[1]) =>
        memory.saveCredentials(owner, all),
      ),
      salt: slowly('salt', () => memory.salt()),
      watch: (changed) => {
        this.#watchers.add(changed);
        return { close: () => Promise.resolve(void this.#watchers.delete(changed)) };
      },
      close: () => Promise.resolve(),
    };
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  /** Another process of this user decides something. */
  async elsewhere(decide: (db: DbPort) => Promise<void>): Promise<void> {
    await decide(this.#memory);
    for (const changed of [...this.#watchers]) changed();
  }
}
