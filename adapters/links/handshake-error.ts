import { SupervisorError, supervisorError } from '../../actors/errors.js';
import type { Code } from '../../machines/vocabulary.js';

const SERVER_TEXT_MAX = 512;
const UNSUPPORTED_PROTOCOL_VERSION = -32022;

/** Whatever made a handshake fail, as one of our codes; the server's own words are cut. */
export function handshakeError(thrown: unknown): SupervisorError {
  if (SupervisorError.is(thrown)) return thrown;
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return supervisorError(codeOf(thrown, text), `The handshake failed: ${text.slice(0, SERVER_TEXT_MAX)}`, { cause: thrown });
}

/** Whether the server said that it does not speak the revision it was addressed in. */
export const isUnsupportedVersion = (thrown: unknown): boolean => codeIn(thrown) === UNSUPPORTED_PROTOCOL_VERSION;

function codeOf(thrown: unknown, text: string): Code {
  const isAboutEras = isUnsupportedVersion(thrown) || codeIn(thrown) === 'ERA_NEGOTIATION_FAILED';
  // For an initialise result with a version it does not speak the SDK throws an error without a code.
  return isAboutEras || text.startsWith("Server's protocol version is not supported")
    ? 'ERA_NEGOTIATION_FAILED'
    : 'INITIALIZE_FAILED';
}

/** By shape and not by class, so that the SDK need not be loaded to read one of its errors. */
const codeIn = (thrown: unknown): unknown => (thrown instanceof Error && 'code' in thrown ? thrown.code : undefined);
