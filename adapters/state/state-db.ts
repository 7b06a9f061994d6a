import { supervisorError } from '../../actors/errors.js';
import type { CredentialOrigin, DbPort } from '../../actors/ports.js';
import type { Era } from '../../machines/vocabulary.js';
import { keyOf } from './bounds.js';
import { createDecisionWatch } from './decision-watch.js';
import { grantsIn } from './grants.js';
import { createListings } from './listings.js';
import { newSalt } from './new-salt.js';
import { Store, type StoreOptions } from './store.js';

export type StateDbOptions = StoreOptions & {
  /** What the lists of all servers may take together, in characters of JSON; the longest unused ones go first. Default 64 Mi. */
  readonly listingCharsMax?: number;
};

const ERA_MS_MAX = 7 * 24 * 3_600_000;
const SWITCHES_MAX = 10_000;
const HEADERS_MAX = 256;

/**
 * What must outlive a run, in an SQLite file that only its owner can read. Nothing is loaded, opened or made before it is
 * first used, and nothing is made by reading. What is damaged is set aside and begun anew, and then every decision is gone:
 * a workspace is untrusted and its servers are off. Refuses a place that others can reach with `STORE_UNSAFE`; everything
 * else that goes wrong is `STORE_FAILED`.
 */
export function createStateDb(options: StateDbOptions): DbPort {
  const { clock } = options;
  const store = new Store(options);
  const listings = createListings(store, options);
  const decisions = createDecisionWatch(store, clock);

  return {
    async trusted(root) {
      keyOf('the path of the workspace', root);
      await decisions.begin();
      const row = await store.read(undefined, (db) => db.get('SELECT trusted FROM trust WHERE root = ?', root));
      return row === undefined ? null : row['trusted'] === 1;
    },
    async setTrusted(root, trusted) {
      keyOf('the path of the workspace', root);
      await decisions.decide((db) => {
        db.run('INSERT OR REPLACE INTO trust (root, trusted) VALUES (?, ?)', root, trusted ? 1 : 0);
      });
    },
    async switches() {
      await decisions.begin();
      const rows = await store.read([], (db) => db.all('SELECT key, is_on FROM switches'));
      return new Map(rows.map((row) => [String(row['key']), row['is_on'] === 1]));
    },
    async setSwitch(key, on) {
      keyOf('the key of the switch', key);
      await decisions.decide((db) => {
        db.run('INSERT OR REPLACE INTO switches (key, is_on) VALUES (?, ?)', key, on ? 1 : 0);
        if (Number(db.get('SELECT count(*) AS n FROM switches')?.['n']) > SWITCHES_MAX) {
          throw supervisorError('STORE_FAILED', `there are ${SWITCHES_MAX} switches; no more are kept`);
        }
      });
    },
    metadata: async (key) => listings.read(keyOf('the key of the lists', key)),
    saveMetadata: async (key, metadata) => listings.save(keyOf('the key of the lists', key), metadata),
    async era(configHash) {
      keyOf('the config hash', configHash);
      const [from, to] = [clock.epoch() - ERA_MS_MAX, clock.epoch() + ERA_MS_MAX];
      const sql = 'SELECT era FROM eras WHERE config_hash = ? AND saved_at BETWEEN ? AND ?';
      const row = await store.read(undefined, (db) => db.get(sql, configHash, from, to));
      return row === undefined ? null : (row['era'] as Era);
    },
    async saveEra(configHash, era) {
      keyOf('the config hash', configHash);
      await store.write((db) => {
        db.run('DELETE FROM eras WHERE config_hash = ? OR saved_at < ?', configHash, clock.epoch() - ERA_MS_MAX);
        if (era !== null)
          db.run('INSERT INTO eras (config_hash, era, saved_at) VALUES (?, ?, ?)', configHash, era, clock.epoch());
      });
    },
    async wasApproved(fingerprint) {
      keyOf('the fingerprint', fingerprint);
      return store.read(false, (db) => db.get('SELECT 1 FROM approvals WHERE fingerprint = ?', fingerprint) !== undefined);
    },
    async saveApproved(fingerprint) {
      keyOf('the fingerprint', fingerprint);
      await store.write(
        (db) => db.run('INSERT OR REPLACE INTO approvals (fingerprint, approved_at) VALUES (?, ?)', fingerprint, clock.epoch()),
        { durable: true },
      );
    },
    ...grantsIn(store, decisions, clock),
    async credentials(owner) {
      keyOf('the name of the server', owner);
      const sql = 'SELECT name, value, endpoint FROM credentials WHERE owner = ?';
      const rows = await store.read([], (db) => db.all(sql, owner));
      return new Map(
        rows.map((row) => [String(row['name']), { value: String(row['value']), endpoint: String(row['endpoint']) }]),
      );
    },
    saveCredentials: async (owner, credentials) => {
      const rows = credentialRows(keyOf('the name of the server', owner), credentials);
      await store.write(
        (db) => {
          db.run('DELETE FROM credentials WHERE owner = ?', owner);
          for (const row of rows) db.run('INSERT INTO credentials (owner, name, value, endpoint) VALUES (?, ?, ?, ?)', ...row);
        },
        { durable: true },
      );
    },
    async salt() {
      const sql = "SELECT value FROM facts WHERE name = 'salt'";
      const kept = await store.read(undefined, (db) => db.get(sql));
      if (kept !== undefined) return String(kept['value']);
      // Another process may have made one since.
      const fresh = newSalt();
      const row = await store.write(
        (db) => {
          db.run("INSERT OR IGNORE INTO facts (name, value) VALUES ('salt', ?)", fresh);
          return db.get(sql);
        },
        { durable: true },
      );
      return String(row?.['value']);
    },
    watch: (changed) => decisions.watch(changed),
    async close() {
      decisions.stop();
      await store.close();
    },
  };
}

function credentialRows(owner: string, credentials: ReadonlyMap<string, CredentialOrigin>): [string, string, string, string][] {
  if (credentials.size > HEADERS_MAX) {
    throw supervisorError('STORE_FAILED', `a server has more than ${HEADERS_MAX} credentials; they cannot be kept`);
  }
  return [...credentials].map(([name, { value, endpoint }]) => [
    owner,
    keyOf('the name of a header', name),
    keyOf('the digest of a credential', value),
    keyOf('the digest of an endpoint', endpoint),
  ]);
}
