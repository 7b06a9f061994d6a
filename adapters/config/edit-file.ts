import { realpath } from 'node:fs/promises';
import { SupervisorError, supervisorError } from '../../actors/errors.js';
import { isInside, writeAtomically } from '../shared/atomic-write.js';
import { type ConfigNode, parseDocument } from './document.js';
import { meaningOf, nodeWith, nodeWithout, withKey, withoutKey } from './edit-document.js';
import { createFaults } from './faults.js';
import { BOM, errorCode, readTextFile } from './read-file.js';
import { type LayerInput, readText, split, topFields } from './read-layer.js';

export type Change = { readonly kind: 'remove'; readonly id: string } | { readonly kind: 'remote'; readonly enabled: boolean };

const REMOTE = ['remote', 'enabled'] as const;
/** A file that changes between reading and writing is read once more. */
const ATTEMPTS = 2;

/**
 * Makes one change in a layer's file, comments and layout kept. Rejects, with the file as it was: `CONFIG_INVALID` for a file
 * with faults, `UNKNOWN_SERVER` for an entry it has not, `CONFIG_UNREADABLE` when it cannot be read or written. Two
 * processes that write within the same few microseconds: the later one wins.
 */
export async function editFile(input: LayerInput, change: Change): Promise<void> {
  const { file } = input;
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      if (await attemptEdit(input, change)) return;
    }
  } catch (error) {
    if (SupervisorError.is(error)) throw error;
    throw supervisorError('CONFIG_UNREADABLE', `"${file}" cannot be written (${errorCode(error)})`, { cause: error });
  }
  throw supervisorError('CONFIG_UNREADABLE', `"${file}" keeps changing; nothing was written`, { hint: 'Try again.' });
}

/** False when somebody else wrote meanwhile. */
async function attemptEdit(input: LayerInput, change: Change): Promise<boolean> {
  const { file } = input;
  const reading = await readTextFile(file);
  if (reading.state === 'faulty') {
    if (reading.code === 'CONFIG_UNREADABLE') throw supervisorError(reading.code, `"${file}" ${reading.message}`);
    throw invalid(file, reading.message);
  }
  if (reading.state === 'absent') {
    if (change.kind === 'remove') throw unknownEntry(file, change.id);
    return writeAtomically({ file, content: firstFile(change.enabled), expected: null });
  }
  await refuseOutside(input);
  const { text, hasBom } = reading;
  const content = await changed(text, input, change);
  if (content === text) return true;
  const bom = hasBom ? BOM : '';
  return writeAtomically({ file, content: bom + content, expected: bom + text });
}

const firstFile = (enabled: boolean): string => `${JSON.stringify({ remote: { enabled } }, null, 2)}\n`;

/** The new text, seen to say what was meant. */
async function changed(text: string, input: LayerInput, change: Change): Promise<string> {
  const { file } = input;
  const { errors } = await readText(text, createFaults(file, text), input);
  const [fault] = errors;
  if (fault !== undefined) throw invalid(`${file}:${fault.line ?? 1}`, `${fault.key}: ${fault.message}`);
  const before = documentOf(text, file);
  const { content, meant } = change.kind === 'remove' ? removed(text, before, change.id, file) : switched(text, before, change);
  const after = parseDocument(content, createFaults(file, content));
  if (after === null || meaningOf(after) !== meaningOf(meant)) throw invalid(file, 'the change cannot be made safely');
  return content;
}

interface Edited {
  readonly content: string;
  readonly meant: ConfigNode;
}

function removed(text: string, before: ConfigNode, id: string, file: string): Edited {
  const faults = createFaults(file, text);
  const fields = topFields(before, faults);
  const isThere = split(fields, faults).entries.some(({ name }) => name === id);
  const path = fields.some(({ name }) => name === 'mcpServers') ? ['mcpServers', id] : [id];
  const content = isThere ? withoutKey(text, path) : null;
  if (content === null) throw unknownEntry(file, id);
  return { content, meant: nodeWithout(before, path) };
}

function switched(text: string, before: ConfigNode, { enabled }: { readonly enabled: boolean }): Edited {
  const meant = nodeWith(before, REMOTE, { kind: 'boolean', at: 0, value: enabled });
  const isSaid = meaningOf(meant) === meaningOf(before);
  return { content: isSaid ? text : withKey(text, REMOTE, enabled), meant };
}

function documentOf(text: string, file: string): ConfigNode {
  const document = parseDocument(text, createFaults(file, text));
  if (document === null) throw invalid(file, 'is not JSON with comments');
  return document;
}

/** A workspace's file that leads out of it is somebody else's. */
async function refuseOutside({ layer, file, root }: LayerInput): Promise<void> {
  if (layer.layer === 'user') return;
  if (!isInside(await realpath(root), await realpath(file)))
    throw supervisorError('CONFIG_UNREADABLE', `"${file}" is a link out of the workspace; it is not written through`, {
      hint: 'Edit the file it leads to.',
    });
}

const invalid = (place: string, problem: string): SupervisorError =>
  supervisorError('CONFIG_INVALID', `${place}: ${problem}; the file was not changed`, { hint: 'Mend the file first.' });

const unknownEntry = (file: string, id: string): SupervisorError =>
  supervisorError('UNKNOWN_SERVER', `"${file}" has no entry "${id.slice(0, 64)}"`);
