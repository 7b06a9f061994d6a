import { vi } from 'vitest';

/** Longest wait for a condition: what does nothing does nothing later either. */
const WAIT_MS_MAX = 300;

const { waitFor } = vi;
vi.waitFor = (callback, options) => {
  const { timeout = WAIT_MS_MAX, ...others } = typeof options === 'number' ? { timeout: options } : (options ?? {});
  return waitFor(callback, { ...others, timeout: Math.min(timeout, WAIT_MS_MAX) });
};

/**
 * What a product that does nothing gives where a test wants something to work with: it can be read, called, made, awaited and
 * gone through, and there is never anything in it. So a test comes as far as its assertions, and they have to fail.
 */
const inert: unknown = new Proxy(function nothing() {}, {
  get: (_target, key) => {
    if (key === 'then') return undefined;
    if (key === 'length' || key === 'size') return 0;
    if (key === Symbol.toPrimitive) return () => '';
    if (key === Symbol.iterator) return () => [][Symbol.iterator]();
    if (key === Symbol.asyncIterator) return () => new ReadableStream({ start: (stream) => stream.close() }).values();
    if (key === 'toJSON') return () => null;
    return inert;
  },
  apply: () => inert,
  construct: () => inert as object,
  set: () => true,
});
Object.assign(globalThis, { inert });
