import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects what nobody holds, finalizers included. SQLite's binding closes a database's file when the last of its statement
 * objects is collected, and there is no other way to make it.
 */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let round = 0; round < 2; round += 1) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
}
