import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ConfigFault } from '../../actors/ports.js';

/** Largest configuration file read: a thousand servers, and little enough to parse without holding the loop up. */
export const FILE_BYTES_MAX = 256 * 1024;
/** What some editors put before UTF-8. */
export const BOM = '\ufeff';
/** How often a file that changes while it is read is read again. */
const ATTEMPTS_MAX = 3;

export type FileReading =
  | { readonly state: 'absent' }
  | { readonly state: 'text'; readonly text: string; readonly hasBom: boolean }
  | {
      readonly state: 'faulty';
      readonly code: ConfigFault['code'];
      readonly line: number | null;
      readonly column: number | null;
      readonly message: string;
    };

const unreadable = (message: string): FileReading => ({
  state: 'faulty',
  code: 'CONFIG_UNREADABLE',
  line: null,
  column: null,
  message,
});

const irregular = unreadable('is not a regular file');
const changing = unreadable('keeps changing while it is read');

/**
 * Reads a small UTF-8 text file. Refuses anything but a regular file without ever waiting on one (a pipe, a device), and
 * whatever is over the size cap. Absent means that the name is free: a link to nowhere, on the way to it too, is a fault.
 */
export async function readTextFile(file: string, bytesMax: number = FILE_BYTES_MAX): Promise<FileReading> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const reading = await attemptRead(file, bytesMax);
    if (reading !== null) return reading;
  }
  return changing;
}

/** `null` when the file was there and not there at once: somebody is replacing it. */
async function attemptRead(file: string, bytesMax: number): Promise<FileReading | null> {
  let handle: FileHandle;
  try {
    // Opening is an act of its own to a device, and ends the wait of whoever writes to a pipe.
    if (!(await stat(file)).isFile()) return irregular;
    handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch (error) {
    const code = errorCode(error);
    return code === 'ENOENT' ? absence(file) : unreadable(`cannot be opened (${code})`);
  }
  try {
    return await readHandle(handle, bytesMax);
  } catch (error) {
    return unreadable(`cannot be read (${errorCode(error)})`);
  } finally {
    await handle.close();
  }
}

/**
 * Why there is no such file. The disk that a link leads to may be away, and that must not look like a person who has no file;
 * nor must a file that is being replaced.
 */
async function absence(file: string): Promise<FileReading | null> {
  for (let path = file; path !== dirname(path); path = dirname(path)) {
    if (!(await isFound(lstat(path)))) continue;
    if (await isFound(stat(path))) break;
    return unreadable(path === file ? 'is a link to a file that does not exist' : 'lies behind a link that leads nowhere');
  }
  return (await isFound(lstat(file))) ? null : { state: 'absent' };
}

const isFound = (look: Promise<unknown>): Promise<boolean> =>
  look.then(
    () => true,
    () => false,
  );

async function readHandle(handle: FileHandle, bytesMax: number): Promise<FileReading> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const before = await handle.stat({ bigint: true });
    if (!before.isFile()) return irregular;
    const bytes = before.size > BigInt(bytesMax) ? null : await readBounded(handle, bytesMax);
    if (bytes === null) return unreadable(`is larger than ${bytesMax} bytes`);
    const after = await handle.stat({ bigint: true });
    const isSame = before.mtimeNs === after.mtimeNs && before.size === after.size && after.size === BigInt(bytes.length);
    if (isSame) return decode(bytes);
  }
  return changing;
}

/** `null` when there is more than the cap. */
async function readBounded(handle: FileHandle, bytesMax: number): Promise<Buffer | null> {
  const buffer = Buffer.allocUnsafe(bytesMax + 1);
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
    if (bytesRead === 0) return buffer.subarray(0, length);
    length += bytesRead;
  }
  return null;
}

function decode(bytes: Buffer): FileReading {
  if (isUtf8(bytes)) {
    const text = bytes.toString('utf8');
    const hasBom = text.startsWith(BOM);
    return { state: 'text', text: hasBom ? text.slice(BOM.length) : text, hasBom };
  }
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    return { state: 'faulty', code: 'CONFIG_SYNTAX', line: 1, column: 1, message: 'is UTF-16; save it as UTF-8' };
  }
  const lines = beforeFault(bytes).split(/\r\n|\r|\n/);
  const column = (lines.at(-1) ?? '').length + 1;
  return {
    state: 'faulty',
    code: 'CONFIG_SYNTAX',
    line: lines.length,
    column,
    message: 'is not UTF-8 from here on; save it as UTF-8',
  };
}

/** The text up to the first byte that is no UTF-8: there, what is read is no longer what stands in the file. */
function beforeFault(bytes: Buffer): string {
  const written = Buffer.from(bytes.toString('utf8'));
  let end = bytes.findIndex((byte, at) => byte !== written[at]);
  // The bytes of one character may agree with those of its replacement up to its last.
  while (!isUtf8(bytes.subarray(0, end))) end -= 1;
  const text = bytes.toString('utf8', 0, end);
  return text.startsWith(BOM) ? text.slice(BOM.length) : text;
}

/** The system's name for an error, or its class; never its message, which may hold more. */
export function errorCode(error: unknown): string {
  if (error instanceof Error) return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return 'unknown error';
}
