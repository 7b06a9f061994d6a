import { expect, test } from 'vitest';
import { createNodeDigest } from '../adapters/node-digest.js';
import { systemClock } from '../adapters/system-clock.js';
import { systemRandom } from '../adapters/system-random.js';

test('a digest of JSON is SHA-256 of its canonical form, in every process', () => {
  // printf '{"a":1,"b":[true,null]}' | sha256sum
  const known = '1cc69c7fa23616ca2ec3ee70d24390a6225c8832db8a4c814c7e0e7f942f8668';
  expect(createNodeDigest().ofJson({ b: [true, null], a: 1 })).toBe(known);
});

test('a keyed digest compares values within a process and tells nothing outside it', () => {
  const [here, elsewhere] = [createNodeDigest(), createNodeDigest()];
  expect(here.keyed('secret')).toMatch(/^[0-9a-f]{12}$/);
  expect(here.keyed('secret')).toBe(here.keyed('secret'));
  expect(here.keyed('secret')).not.toBe(here.keyed('secreT'));
  expect(here.keyed('secret')).not.toBe(elsewhere.keyed('secret'));
});

test('what has no canonical form has no digest', () => {
  expect(() => createNodeDigest().ofJson(Number.NaN)).toThrow();
  expect(() => createNodeDigest().ofJson('\ud800')).toThrow();
});

test('chance gives 32-bit seeds and nonces that differ', () => {
  const seeds = Array.from({ length: 100 }, () => systemRandom.seed());
  expect(seeds.every((seed) => Number.isInteger(seed) && seed >= 0 && seed < 2 ** 32)).toBe(true);
  expect(new Set(seeds).size).toBeGreaterThan(90);
  expect(systemRandom.nonce()).toMatch(/^[0-9a-f]{32}$/);
  expect(systemRandom.nonce()).not.toBe(systemRandom.nonce());
});

test('a timer fires once unless cleared, however long it was set for', async () => {
  let early = false;
  const long = systemClock.setTimeout(() => (early = true), Number.MAX_SAFE_INTEGER);
  const cleared = systemClock.setTimeout(() => (early = true), 0);
  systemClock.clearTimeout(cleared);
  await new Promise<void>((resolve) => systemClock.setTimeout(resolve, 5));
  systemClock.clearTimeout(long);
  expect(early).toBe(false);
});
