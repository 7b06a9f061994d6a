/**
 * Follows the timers that code of this process starts, from now on. Vitest took its own functions before any test ran, so its
 * timers do not count; nor do those that do not hold the process open. One at a time: `stop` gives back what was there before.
 */
export function followTimers(): { running(): readonly string[]; stop(): void } {
  const before = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
  const started = new Map<NodeJS.Timeout | undefined, string>();
  const start = (fire: (...args: unknown[]) => void, delayMs?: number, ...args: unknown[]): NodeJS.Timeout => {
    const timer = before.setTimeout(() => {
      started.delete(timer);
      fire(...args);
    }, delayMs);
    started.set(timer, `${String(delayMs)} ms ${new Error('started').stack ?? ''}`);
    return timer;
  };
  const clear = (timer: NodeJS.Timeout | undefined): void => {
    started.delete(timer);
    before.clearTimeout(timer);
  };
  Object.assign(globalThis, { setTimeout: start, clearTimeout: clear });
  return {
    /** Neither fired nor cleared: how long each is and where it was started. */
    running: () => [...started].filter(([timer]) => timer?.hasRef() === true).map(([, where]) => where),
    stop: () => void Object.assign(globalThis, before),
  };
}
