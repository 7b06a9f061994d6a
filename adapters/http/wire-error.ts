import { SupervisorError, supervisorError } from '../../actors/errors.js';

const TLS_CODES =
  /^(CERT_|CRL_|ERR_TLS_|ERR_SSL_|ERR_OSSL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE)|PATH_LENGTH_EXCEEDED|EPROTO)/;
const OWN_AUTHORITY = /SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)/;

/** What went wrong before a request could be sent. Names the place and the system's code, nothing the other side wrote. */
export function connectError(thrown: unknown, place: string, isLoopback: boolean): SupervisorError {
  if (SupervisorError.is(thrown)) return thrown;
  const code = codeOf(thrown);
  if (TLS_CODES.test(code)) return tlsError(thrown, code, place);
  return supervisorError('CONNECT_FAILED', `${place} cannot be reached: ${code}${isLoopback ? triedOf(thrown) : ''}.`, {
    cause: thrown,
  });
}

/** What went wrong after a request was sent, so that it may have had its effect. */
export function exchangeError(thrown: unknown, place: string): SupervisorError {
  if (SupervisorError.is(thrown)) return thrown;
  const code = codeOf(thrown);
  const options = { cause: thrown };
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return supervisorError('MESSAGE_TOO_LARGE', `The headers of ${place} are too long.`, options);
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return supervisorError('LINK_LOST', `${place} sent no headers in time.`, options);
  if (code === 'UND_ERR_BODY_TIMEOUT')
    return supervisorError('LINK_LOST', `${place} fell silent in the middle of an answer.`, options);
  if (/^HPE_|^HTTPParserError$/.test(code))
    return supervisorError('RESULT_INVALID', `What ${place} answered is not HTTP: ${code}.`, options);
  if (/^(Z_|ERR_)(DATA|BUF|STREAM|ZLIB|_ERR|.*BROTLI|.*PADDING)/.test(code)) {
    return supervisorError('LINK_LOST', `The compressed answer of ${place} is damaged: ${code}.`, options);
  }
  if (TLS_CODES.test(code)) return tlsError(thrown, code, place);
  return supervisorError('LINK_LOST', `The connection to ${place} broke: ${code}.`, options);
}

function tlsError(cause: unknown, code: string, place: string): SupervisorError {
  const hint = OWN_AUTHORITY.test(code)
    ? 'If its authority is your own, name the file with its certificate in SSL_CERT_FILE or NODE_EXTRA_CA_CERTS.'
    : 'Checking is never switched off; the server needs a certificate that is valid for its name.';
  return supervisorError('TLS_FAILED', `The TLS connection to ${place} was not accepted: ${code}.`, { hint, cause });
}

function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'unknown error';
  if ('code' in thrown && typeof thrown.code === 'string') return thrown.code;
  return thrown.name;
}

/** The addresses that were tried, where they say nothing of somebody's network. */
function triedOf(thrown: unknown): string {
  if (!(thrown instanceof AggregateError)) return '';
  const tried = thrown.errors.map((error: unknown) =>
    error instanceof Error && 'address' in error ? String(error.address) : null,
  );
  return `, tried ${tried.filter((address) => address !== null).join(' and ')}`;
}
