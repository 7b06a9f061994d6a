import type { Duplex } from 'node:stream';
import { connect, createSecureContext, rootCertificates, type SecureContext, type TLSSocket } from 'node:tls';

export type { SecureContext };

const MIN_VERSION = 'TLSv1.2';

/** What is trusted: the authorities Node knows, and these in PEM. With none it is left to Node, which knows of a few more. */
export function trust(pem: readonly string[]): SecureContext {
  return createSecureContext({
    minVersion: MIN_VERSION,
    ...(pem.length === 0 ? {} : { ca: [...rootCertificates, ...pem] }),
  });
}

/**
 * Speaks TLS over a connection. Certificate and name are checked whatever the process was told: `NODE_TLS_REJECT_UNAUTHORIZED`
 * has no say here.
 */
export function openTls(socket: Duplex, host: string, secureContext: SecureContext): TLSSocket {
  const isAddress = /^[\d.]+$|:/.test(host);
  return connect({
    socket,
    host,
    ...(isAddress ? {} : { servername: host }),
    rejectUnauthorized: true,
    minVersion: MIN_VERSION,
    ALPNProtocols: ['http/1.1'],
    secureContext,
  });
}
