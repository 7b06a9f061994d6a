import type { SnapshotFrom } from 'xstate';
import { isHungry, verdictOf } from './server-context.js';
import type { serverMachine } from './server-machine.js';
import { PHASES, type Phase, type Stage } from './vocabulary.js';

export type ServerSnapshot = SnapshotFrom<typeof serverMachine>;

/** The public phase, exactly one of six. While a generation closes it is the phase that it is heading for. */
export function phaseOf(snapshot: ServerSnapshot): Phase {
  if (snapshot.matches({ up: 'closing' })) return phaseAhead(snapshot);
  // Only `gone` has no tag: nothing is left of the server, and nobody lists it any more.
  return PHASES.find((phase) => snapshot.hasTag(phase)) ?? 'idle';
}

function phaseAhead({ context }: ServerSnapshot): Phase {
  if (context.heading === 'gone' || context.shut !== null) return 'idle';
  if (context.heading === 'crash') return AFTER_CRASH[verdictOf(context)];
  return isHungry(context) ? 'connecting' : 'idle';
}

const AFTER_CRASH = { gate: 'idle', failed: 'failed', backoff: 'backoff', idle: 'idle' } as const satisfies Record<
  ReturnType<typeof verdictOf>,
  Phase
>;

/** It waits for a slot longer than it has to start, and has said so: where all slots are kept the wait need not end. */
export const isOverdue = (snapshot: ServerSnapshot): boolean => snapshot.matches({ down: { queued: 'overdue' } });

/** Where a server is on its way; null while it rests. */
export function stageOf(snapshot: ServerSnapshot): Stage | null {
  return STAGES.find(([state]) => snapshot.matches(state))?.[1] ?? null;
}

const STAGES = [
  [{ down: 'vetting' }, 'approval'],
  [{ down: 'approving' }, 'approval'],
  [{ down: 'queued' }, 'slot'],
  [{ up: { connecting: 'opening' } }, 'transport'],
  [{ up: { connecting: 'handshake' } }, 'initialize'],
  [{ up: { connecting: 'listing' } }, 'list'],
  [{ up: 'closing' }, 'closing'],
] as const satisfies readonly (readonly [Parameters<ServerSnapshot['matches']>[0], Stage])[];
