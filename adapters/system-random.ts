import { randomBytes } from 'node:crypto';
import type { RandomPort } from '../actors/ports.js';

/** Chance from the operating system. */
export const systemRandom: RandomPort = {
  seed: () => randomBytes(4).readUInt32LE(),
  nonce: () => randomBytes(16).toString('hex'),
};
