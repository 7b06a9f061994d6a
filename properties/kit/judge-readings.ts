import { isWorkspaceLayer } from '../../machines/vocabulary.js';
import type { Connection } from './connection.js';
import type { SimulatedHost } from './host.js';
import type { Reading } from './simulated-config.js';

/** What each id was, in every layer, when a configuration was last taken. */
type Signatures = ReadonlyMap<string, string>;
const taken = new WeakMap<object, Signatures>();

/** A reading has arrived and had its effect: what it does not speak of runs on. */
export function judgeReading({ world, rooms }: SimulatedHost, reading: Reading, before: readonly Connection[]): void {
  const runtime = rooms.find(({ root }) => root === reading.root)?.runtime ?? null;
  const { ledger, checks, clock } = world;
  ledger.readAtMs.set(reading.root, clock.now());
  if (runtime === null || runtime.isEnded) return;
  const last = taken.get(runtime);
  const isRejected = reading.layers.some(
    ({ layer, state }) => state === 'rejected' && (runtime.trusted || !isWorkspaceLayer(layer)),
  );
  if (isRejected && last !== undefined) {
    const gone = before.find(({ isUsable }) => !isUsable);
    checks.holds('rejected-reload', gone === undefined, () => `${gone?.name ?? ''} ended by a reload that was rejected`);
    return;
  }
  const now = signaturesOf(reading);
  taken.set(runtime, now);
  for (const id of new Set([...now.keys(), ...(last?.keys() ?? [])])) {
    if (last?.get(id) !== now.get(id)) ledger.pardon(reading.root, id);
  }
  if (last === undefined) return;
  const gone = before.find(({ isUsable, facts }) => !isUsable && last.get(facts.id) === now.get(facts.id));
  checks.holds('minimal-reload', gone === undefined, () => `${gone?.name ?? ''} ended by a reload that left it as it was`);
}

function signaturesOf({ layers }: Reading): Signatures {
  const signatures = new Map<string, string>();
  for (const { state, servers } of layers) {
    if (state !== 'valid') continue;
    for (const { id, layer, configHash, refusal } of servers) {
      signatures.set(id, `${signatures.get(id) ?? ''} ${layer} ${configHash} ${refusal?.code ?? ''}`);
    }
  }
  return signatures;
}
