import { randomBytes } from 'node:crypto';

/** 256 random bits in hex. */
export const newSalt = (): string => randomBytes(32).toString('hex');
