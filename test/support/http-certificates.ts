import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import { join } from 'node:path';
import type { SecureVersion } from 'node:tls';
import { generate } from 'selfsigned';
import { temporaryDirectory } from './temporary-directory.js';

const HOUR_MS = 3_600_000;

interface Pair {
  readonly key: string;
  readonly cert: string;
}

/** An authority of the running test, in a file as a user would name it. */
export interface Authority extends Pair {
  readonly file: string;
}

/** Made anew for each test, valid for a day. */
export async function authority(): Promise<Authority> {
  const pair = await certificate('Authority of a test', [
    { name: 'basicConstraints', cA: true, critical: true },
    { name: 'keyUsage', keyCertSign: true },
  ]);
  const file = join(await temporaryDirectory('authority-'), 'ca.pem');
  await writeFile(file, pair.cert);
  return { ...pair, file };
}

export interface Flaws {
  readonly isExpired?: boolean;
  /** No authority vouches for it. */
  readonly isSelfSigned?: boolean;
  readonly versionMax?: SecureVersion;
}

/** An https server that shows a certificate for `name`; not yet listening. */
export async function httpsServer(ca: Authority, name: string, flaws: Flaws = {}): Promise<Server> {
  const altName = /^[\d.]+$/.test(name) ? { type: 7 as const, ip: name } : { type: 2 as const, value: name };
  const pair = await certificate(
    name,
    [{ name: 'subjectAltName', altNames: [altName] }],
    flaws.isSelfSigned === true ? null : ca,
    flaws.isExpired,
  );
  const old =
    flaws.versionMax === undefined
      ? {}
      : { minVersion: 'TLSv1' as const, maxVersion: flaws.versionMax, ciphers: 'DEFAULT@SECLEVEL=0' };
  const server = createServer({ ...pair, ...old });
  // A client that refuses the certificate breaks the handshake off.
  server.on('tlsClientError', () => undefined);
  return server;
}

type Extensions = NonNullable<NonNullable<Parameters<typeof generate>[1]>['extensions']>;

async function certificate(commonName: string, extensions: Extensions, ca: Pair | null = null, isExpired = false): Promise<Pair> {
  const endsInMs = isExpired ? -HOUR_MS : 24 * HOUR_MS;
  const made = await generate([{ name: 'commonName', value: commonName }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(Date.now() - 2 * HOUR_MS),
    notAfterDate: new Date(Date.now() + endsInMs),
    extensions,
    ...(ca === null ? {} : { ca: { key: ca.key, cert: ca.cert } }),
  });
  return { key: made.private, cert: made.cert };
}
