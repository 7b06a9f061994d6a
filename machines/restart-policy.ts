/** How often a server may die, and how long it waits before it is started again. All times in milliseconds. */
export interface RestartPolicy {
  /** More deaths than this inside `windowMs` and the server has failed. */
  readonly intensity: number;
  readonly windowMs: number;
  /** Upper bound of the first wait; doubles with every further attempt. */
  readonly backoffBaseMs: number;
  readonly backoffCapMs: number;
  readonly backoffFloorMs: number;
  /** A server that was ready for this long starts counting attempts afresh. */
  readonly stableAfterMs: number;
  /** A failed server admits one demand each time this has passed. */
  readonly halfOpenAfterMs: number;
}

export const defaultRestartPolicy: RestartPolicy = {
  intensity: 5,
  windowMs: 120_000,
  backoffBaseMs: 500,
  backoffCapMs: 30_000,
  backoffFloorMs: 50,
  stableAfterMs: 60_000,
  halfOpenAfterMs: 60_000,
};

/** A timer set for longer than this fires at once instead. */
const LARGEST = 2 ** 31 - 1;

/**
 * The default policy with some values replaced. Throws a `TypeError` that says what it got for a name it does not know,
 * for anything but a whole number from 1 to 2 147 483 647, and for a floor above the cap.
 */
export function restartPolicy(overrides: Readonly<Record<string, number>>): RestartPolicy {
  for (const [name, value] of Object.entries(overrides)) {
    if (!Object.hasOwn(defaultRestartPolicy, name)) {
      throw new TypeError(`Unknown restart option "${name}"; known are ${Object.keys(defaultRestartPolicy).join(', ')}`);
    }
    if (!Number.isInteger(value) || value < 1 || value > LARGEST) {
      throw new TypeError(`Expected restart option "${name}" to be a whole number from 1 to ${LARGEST}, got ${describe(value)}`);
    }
  }
  const policy = { ...defaultRestartPolicy, ...overrides };
  if (policy.backoffFloorMs > policy.backoffCapMs) {
    throw new TypeError(
      `Expected backoffFloorMs not to exceed backoffCapMs, got ${policy.backoffFloorMs} and ${policy.backoffCapMs}`,
    );
  }
  return policy;
}

/** Next number of a mulberry32 sequence: the whole generator is the 32-bit `seed`, `draw` lies in [0, 1). */
export function nextDraw(seed: number): { readonly seed: number; readonly draw: number } {
  const next = (seed + 0x6d2b79f5) | 0;
  const once = Math.imul(next ^ (next >>> 15), 1 | next);
  const twice = (once + Math.imul(once ^ (once >>> 7), 61 | once)) ^ once;
  return { seed: next, draw: ((twice ^ (twice >>> 14)) >>> 0) / 2 ** 32 };
}

/**
 * Wait in ms before start number `attempt` (from 1): full jitter between the floor and a bound that doubles up to the cap.
 * `draw` is a number of [0, 1); whatever it is, the wait lies between floor and cap.
 */
export function backoffMs(attempt: number, draw: number, policy: RestartPolicy): number {
  const { backoffBaseMs, backoffCapMs, backoffFloorMs } = policy;
  const doubled = backoffBaseMs * 2 ** Math.max(0, attempt - 1);
  const bound = Math.max(backoffFloorMs, Math.min(backoffCapMs, doubled));
  // Written so that NaN counts as 0.
  const share = draw > 0 ? Math.min(draw, 1) : 0;
  return backoffFloorMs + Math.floor(share * (bound - backoffFloorMs));
}

/**
 * The deaths of the last `windowMs`, as sequence numbers. A machine reads no clock: it records every death and asks for a
 * delayed event that forgets this one again, which makes the list an exact sliding window.
 */
export function recordRestart(window: readonly number[], seq: number): readonly number[] {
  return [...window, seq];
}

/** The window without this death. A number that is not in it changes nothing. */
export function forgetRestart(window: readonly number[], seq: number): readonly number[] {
  return window.filter((one) => one !== seq);
}

/** Asked after the latest death was recorded: with the default policy the sixth within 120 s is one too many. */
export function isIntensityExceeded(window: readonly number[], policy: RestartPolicy): boolean {
  return window.length > policy.intensity;
}

function describe(value: unknown): string {
  return `${String(value)} (${typeof value})`;
}
