import { isAbsolute, relative, sep } from 'node:path';
import { type Code, type SupervisorError, supervisorError } from '../../actors/errors.js';
import type { ServerDefinition } from '../../actors/ports.js';

/** Whether a path is a directory or anything below it. Compares text: both must be real paths. */
export function isInside(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** A refusal that names the entry, the field and the place; never what stands there. */
export function refusal(
  code: Code,
  definition: ServerDefinition,
  field: string,
  problem: string,
  hint?: string,
): SupervisorError {
  const message = `mcpServers.${definition.id}.${field} (${definition.file}:${definition.line}): ${problem}`;
  return supervisorError(code, message, hint === undefined ? {} : { hint });
}

/** The system's name for an error, or its class; never its message, which holds the path. */
export function errorCode(error: unknown): string {
  if (error instanceof Error) return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return 'unknown error';
}
