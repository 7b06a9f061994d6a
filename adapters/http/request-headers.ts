import { supervisorError } from '../../actors/errors.js';

type Headers = Readonly<Record<string, string>>;

/** What only the connection itself may say, and proxies are told elsewhere. */
const OF_THE_CONNECTION =
  /^(host|connection|keep-alive|content-length|transfer-encoding|te|trailer|upgrade|expect|accept-encoding|proxy-.*)$/;
/** What each request says of itself; a configured value would contradict it. */
const OF_THE_PROTOCOL = /^(accept|content-type|last-event-id|mcp-.*)$/;

/**
 * The headers of one request. Configured ones go first and last: nothing the protocol adds stands in for a credential the user
 * wrote, and no configured header speaks for the connection or the protocol. A name or value that cannot be sent is refused with
 * `CONFIG_INVALID`, by name.
 */
export function headersOf(configured: Headers, own: Headers, acceptEncoding: string): Record<string, string> {
  const headers: Record<string, string> = { 'accept-encoding': acceptEncoding };
  add(headers, own, (name) => !OF_THE_CONNECTION.test(name));
  add(headers, configured, (name) => !OF_THE_CONNECTION.test(name) && !OF_THE_PROTOCOL.test(name));
  return headers;
}

function add(headers: Record<string, string>, more: Headers, mayBeSent: (name: string) => boolean): void {
  for (const [written, value] of Object.entries(more)) {
    const name = written.toLowerCase();
    if (!mayBeSent(name)) continue;
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) throw supervisorError('CONFIG_INVALID', 'The name of a header cannot be sent.');
    if (/[^\t\u0020-\u007e\u0080-\u00ff]/.test(value)) {
      throw supervisorError('CONFIG_INVALID', `The value of the header "${name}" holds characters that cannot be sent.`);
    }
    headers[name] = value;
  }
}
