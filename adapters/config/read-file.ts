import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import type { ConfigFault } from '../../actors/ports.js';

/** Largest configuration file read. */
export const FILE_BYTES_MAX = 1024 * 1024;
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

/**
 * Reads a small UTF-8 text file. Refuses anything but a regular file without ever waiting on one (a pipe, a device), and
 * whatever is over the size cap. Absent means that the name is free: a link to nowhere is a fault.
 */
export async function readTextFile(file: string): Promise<FileReading> {
  let handle: FileHandle;
  try {
    handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch (error) {
    const code = errorCode(error);
    if (code !== 'ENOENT') return unreadable(`cannot be opened (${code})`);
    const isLink = await lstat(file).then(
      () => true,
      () => false,
    );
    return isLink ? unreadable('is a link to a file that does not exist') : { state: 'absent' };
  }
  try {
    return await readHandle(handle);
  } catch (error) {
    return unreadable(`cannot be read (${errorCode(error)})`);
  } finally {
    await handle.close();
  }
}

async function readHandle(handle: FileHandle): Promise<FileReading> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const before = await handle.stat({ bigint: true });
    if (!before.isFile()) return unreadable('is not a regular file');
    const bytes = before.size > BigInt(FILE_BYTES_MAX) ? null : await readBounded(handle);
    if (bytes === null) return unreadable(`is larger than ${FILE_BYTES_MAX} bytes`);
    const after = await handle.stat({ bigint: true });
    const isSame = before.mtimeNs === after.mtimeNs && before.size === after.size && after.size === BigInt(bytes.length);
    if (isSame) return decode(bytes);
  }
  return unreadable('keeps changing while it is read');
}

/** `null` when there is more than the cap. */
async function readBounded(handle: FileHandle): Promise<Buffer | null> {
  const buffer = Buffer.allocUnsafe(FILE_BYTES_MAX + 1);
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
  const before = bytes.toString('utf8').split('\ufffd', 1)[0] ?? '';
  const lines = before.split(/\r\n|\r|\n/);
  const column = (lines.at(-1) ?? '').length + 1;
  return {
    state: 'faulty',
    code: 'CONFIG_SYNTAX',
    line: lines.length,
    column,
    message: 'is not UTF-8 from here on; save it as UTF-8',
  };
}

/** The system's name for an error, or its class; never its message, which may hold more. */
export function errorCode(error: unknown): string {
  if (error instanceof Error) return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return 'unknown error';
}
