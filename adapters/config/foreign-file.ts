import type { ConfigFault, Json } from '../../actors/ports.js';
import { parseDocument } from './document.js';
import { jsonOf } from './edit-entries.js';
import { createFaults } from './faults.js';
import { readTextFile } from './read-file.js';

/** Other programs keep more than servers in their files: a person waits for this once, and no host does. */
const BYTES_MAX = 32 * 1024 * 1024;
const TOKENS_MAX = 2_000_000;

export type ForeignText =
  | { readonly text: string | null; readonly fault?: never }
  | { readonly text?: never; readonly fault: ConfigFault };

/** The text of another program's file, null when there is none. Refuses what is no regular file or over 32 MiB. */
export async function readForeignText(file: string): Promise<ForeignText> {
  const reading = await readTextFile(file, BYTES_MAX);
  if (reading.state !== 'faulty') return { text: reading.state === 'absent' ? null : reading.text };
  const { line, column, code, message } = reading;
  return { fault: { file, line, column, key: '', code, message } };
}

export type ForeignJson =
  | { readonly value: Json; readonly fault?: never }
  | { readonly value?: never; readonly fault: ConfigFault };

/** Another program's file as JSON with comments. Refuses a key that stands twice: it could mean either. */
export function parseForeignJson(text: string, file: string): ForeignJson {
  const faults = createFaults(file, text);
  const document = parseDocument(text, faults, TOKENS_MAX);
  if (document !== null) return { value: jsonOf(document) };
  const [fault] = faults.errors;
  return {
    fault: fault ?? { file, line: 1, column: 1, key: '', code: 'CONFIG_SYNTAX', message: 'is empty' },
  };
}
