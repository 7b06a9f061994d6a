import { readFile } from 'node:fs/promises';
import { supervisorError } from '../../actors/errors.js';
import type { Env } from './proxy-env.js';

/** The user's own authorities. Node itself reads the second at its start only, and not at all where a list is given to it. */
const VARIABLES = ['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS'];

/**
 * The certificates of authorities the user's environment adds to the built-in ones, in PEM. A file that cannot be read, or holds
 * none, refuses with `TLS_FAILED`: what the user wants checked cannot be.
 */
export async function readAuthorities(env: Env): Promise<readonly string[]> {
  const named = VARIABLES.filter((name) => (env[name] ?? '') !== '');
  return Promise.all(named.map(async (name) => readPem(name, env[name] ?? '')));
}

async function readPem(name: string, file: string): Promise<string> {
  const pem = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw supervisorError('TLS_FAILED', `The file that ${name} names, "${file}", cannot be read.`, { cause });
  });
  if (pem.includes('-----BEGIN ')) return pem;
  throw supervisorError('TLS_FAILED', `The file that ${name} names, "${file}", holds no certificate in PEM.`);
}
