import type { ClockPort, DbPort } from '../../actors/ports.js';
import { keyOf } from './bounds.js';
import type { DecisionWatch } from './decision-watch.js';
import type { Store } from './store.js';

/** Definitions of one tool that are remembered; a server that keeps changing pushes out its own oldest. */
const DIGESTS_A_TOOL = 16;
/** Over all roots; the oldest go first. */
const GRANTS_MAX = 10_000;

/** What a person approved for good. Each is a decision: other processes hear of it. */
export function grantsIn(
  store: Store,
  decisions: DecisionWatch,
  clock: ClockPort,
): Pick<DbPort, 'grants' | 'saveGrant' | 'forgetGrants'> {
  return {
    async grants(root) {
      keyOf('the path of the workspace', root);
      await decisions.begin();
      const rows = await store.read([], (db) => db.all('SELECT tool, digest FROM grants WHERE root = ?', root));
      const grants = new Map<string, Set<string>>();
      for (const row of rows) {
        const tool = String(row['tool']);
        grants.set(tool, (grants.get(tool) ?? new Set()).add(String(row['digest'])));
      }
      return grants;
    },
    async saveGrant(root, tool, digest) {
      const key = [keyOf('the path of the workspace', root), keyOf('the name of the tool', tool)] as const;
      keyOf('the digest of a definition', digest);
      await decisions.decide((db) => {
        db.run(
          'INSERT OR REPLACE INTO grants (root, tool, digest, granted_at) VALUES (?, ?, ?, ?)',
          ...key,
          digest,
          clock.epoch(),
        );
        const ofTool = 'SELECT digest FROM grants WHERE root = ? AND tool = ? ORDER BY granted_at DESC LIMIT ?';
        db.run(`DELETE FROM grants WHERE root = ? AND tool = ? AND digest NOT IN (${ofTool})`, ...key, ...key, DIGESTS_A_TOOL);
        const kept = 'SELECT granted_at FROM grants ORDER BY granted_at DESC LIMIT 1 OFFSET ?';
        db.run(`DELETE FROM grants WHERE granted_at <= (${kept})`, GRANTS_MAX);
      });
    },
    async forgetGrants(root, tools) {
      keyOf('the path of the workspace', root);
      if (tools.length === 0) return;
      await decisions.decide((db) => {
        for (const tool of tools) db.run('DELETE FROM grants WHERE root = ? AND tool = ?', root, tool);
      });
    },
  };
}
