/** A timer of Node holds the process open until it is told not to; what can wait for ever is no reason to stay. */
export function letGo(timer: unknown): unknown {
  if (isHolding(timer)) timer.unref();
  return timer;
}

const isHolding = (timer: unknown): timer is { unref(): void } =>
  typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function';
