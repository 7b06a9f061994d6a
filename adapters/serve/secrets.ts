import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** 256 random bits, printable in a header and a URL: a token, a session id, the state of a form. */
export const unguessable = (): string => randomBytes(32).toString('base64url');

/** Whether two secrets are the same, in a time that says nothing of where they differ, nor how long they are. */
export function isSameSecret(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
