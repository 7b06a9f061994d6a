import { supervisorError } from '../../actors/errors.js';

const KEY_BYTES_MAX = 4_096;

/**
 * A key or a digest as it can be kept: at most 4 KiB of UTF-8, without NUL, at which libsql cuts a text, and without half
 * characters, which it replaces: two keys would become one. Refuses others with `STORE_FAILED`.
 */
export function keyOf(what: string, value: string): string {
  if (value.length <= KEY_BYTES_MAX && Buffer.byteLength(value) <= KEY_BYTES_MAX && !/[\0\p{Surrogate}]/u.test(value))
    return value;
  throw supervisorError('STORE_FAILED', `${what} cannot be kept: it is longer than ${KEY_BYTES_MAX} bytes, or not plain text`);
}
