import { applyEdits, type Edit } from 'jsonc-parser';
import { SupervisorError, supervisorError } from '../../actors/errors.js';
import type { DigestPort, Json, LayerReading } from '../../actors/ports.js';
import { writeAtomically } from '../shared/atomic-write.js';
import { type ConfigNode, parseDocument } from './document.js';
import { diffLines } from './edit-diff.js';
import { meaningOf, nodeWith } from './edit-document.js';
import { entryEdits, nodeOf } from './edit-entries.js';
import { createFaults } from './faults.js';
import { fileLayers } from './layers.js';
import { maskedText } from './masked-text.js';
import { BOM, errorCode, FILE_BYTES_MAX, readTextFile } from './read-file.js';
import { type LayerInput, readText, split, topFields } from './read-layer.js';
import { NO_SETTINGS } from './settings.js';
import { judgeServers, type PutOutcome, type WantedServer } from './wanted-servers.js';

export interface PutOptions {
  readonly userFile: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly digest: DigestPort;
  /** Whether an entry that is there and differs is replaced; else it stays. */
  readonly replace: boolean;
}

/** What a write would do; nothing is written yet. */
export interface ServersDraft {
  readonly file: string;
  /** One for each wanted server, in their order. */
  readonly outcomes: readonly PutOutcome[];
  /** A unified diff without secrets; empty where nothing changes. */
  readonly diff: readonly string[];
  /** Writes exactly what was shown. Rejects with `CONFIG_UNREADABLE`, the file as it was, when it has changed since. */
  write(): Promise<void>;
}

/**
 * Drafts entries into the user's file, comments and layout kept. A server that our own reader would reject is left out and
 * says why; what is written is what that reader takes. Rejects, with nothing touched, when the file cannot be read
 * (`CONFIG_UNREADABLE`) or has a fault.
 */
export async function draftServers(wanted: readonly WantedServer[], options: PutOptions): Promise<ServersDraft> {
  const { userFile: file, env, digest } = options;
  const reading = await readTextFile(file);
  if (reading.state === 'faulty') throw refused(reading.code, file, reading.line, reading.message);
  const isNew = reading.state === 'absent';
  const text = isNew ? '{}\n' : reading.text;
  const input: LayerInput = {
    layer: fileLayers(file, '')[0],
    file,
    root: '/',
    userFile: file,
    settings: NO_SETTINGS,
    env,
    digest,
    lower: new Set(),
    counted: new Set(),
  };
  const existing = await requireValid(text, input);
  const before = documentOf(text, file);
  const home = homeOf(before, file);
  const outcomes = await judgeServers(wanted, { ...options, input, existing, home });
  const entries = outcomes.flatMap(({ id, entry, action }): [string, Json][] =>
    action === 'added' || action === 'replaced' ? [[id, entry]] : [],
  );
  const edits = entries.length === 0 ? [] : entryEdits(text, home.path, entries);
  if (edits === null) throw unsafe(file);
  const content = applyEdits(text, [...edits]);
  const meant = entries.reduce((node, [id, entry]) => nodeWith(node, [...home.path, id], nodeOf(entry)), before);
  if (meaningOf(documentOf(content, file)) !== meaningOf(meant)) throw unsafe(file);
  const after = await requireValid(content, { ...input, counted: new Set() });
  if (entries.some(([id]) => !after.servers.some((server) => server.id === id))) throw unsafe(file);

  const bom = !isNew && reading.hasBom ? BOM : '';
  if (Buffer.byteLength(bom + content) > FILE_BYTES_MAX)
    throw supervisorError('CONFIG_INVALID', `${file} would be larger than ${FILE_BYTES_MAX} bytes; it was not changed`, {
      hint: 'Import from one file at a time, or take out what is not needed there.',
    });
  return {
    file,
    outcomes,
    diff: edits.length === 0 ? [] : diffOf({ file, isNew, text, content, edits, digest }),
    write: async () => {
      if (edits.length === 0) return;
      await write({ file, content: bom + content, expected: isNew ? null : bom + text });
    },
  };
}

async function write(change: {
  readonly file: string;
  readonly content: string;
  readonly expected: string | null;
}): Promise<void> {
  const { file } = change;
  try {
    // What other programs kept for their owner alone is not shown to everybody here.
    if (await writeAtomically({ ...change, ownerOnly: true })) return;
  } catch (error) {
    if (SupervisorError.is(error)) throw error;
    throw supervisorError('CONFIG_UNREADABLE', `"${file}" cannot be written (${errorCode(error)})`, { cause: error });
  }
  throw supervisorError('CONFIG_UNREADABLE', `"${file}" has changed since it was shown; nothing was written`, {
    hint: 'Try again.',
  });
}

async function requireValid(text: string, input: LayerInput): Promise<LayerReading> {
  const reading = await readText(text, createFaults(input.file, text), input);
  const [fault] = reading.errors;
  if (fault !== undefined) throw refused(fault.code, input.file, fault.line, `${fault.key}: ${fault.message}`);
  return reading;
}

/** Where entries stand in this file: under `mcpServers`, or at the top where it has them there already. */
export interface EntriesHome {
  readonly path: readonly string[];
  readonly entries: ReadonlyMap<string, ConfigNode>;
}

function homeOf(document: ConfigNode, file: string): EntriesHome {
  const faults = createFaults(file, null);
  const fields = topFields(document, faults);
  const { entries } = split(fields, faults);
  const isAtTop = entries.length > 0 && !fields.some(({ name }) => name === 'mcpServers');
  return { path: isAtTop ? [] : ['mcpServers'], entries: new Map(entries.map(({ name, value }) => [name, value])) };
}

function documentOf(text: string, file: string): ConfigNode {
  const document = parseDocument(text, createFaults(file, text));
  if (document === null) throw unsafe(file);
  return document;
}

interface Shown {
  readonly file: string;
  readonly isNew: boolean;
  readonly text: string;
  readonly content: string;
  readonly edits: readonly Edit[];
  readonly digest: DigestPort;
}

function diffOf({ file, isNew, text, content, edits, digest }: Shown): readonly string[] {
  const shownAfter = maskedText(content, digest);
  const texts = isNew
    ? { before: '', after: content, shownBefore: '', shownAfter }
    : { before: text, after: content, shownBefore: maskedText(text, digest), shownAfter };
  const made = isNew ? [{ offset: 0, length: 0, content }] : edits;
  return [`--- ${isNew ? '/dev/null' : file}`, `+++ ${file}`, ...diffLines(texts, made)];
}

const refused = (code: SupervisorError['code'], file: string, line: number | null, problem: string): SupervisorError =>
  supervisorError(code, `${file}${line === null ? '' : `:${line}`} ${problem}; the file was not changed`, {
    hint: 'Mend the file first.',
  });

const unsafe = (file: string): SupervisorError =>
  supervisorError('CONFIG_INVALID', `${file}: the change cannot be made safely; the file was not changed`, {
    hint: 'Write the entries by hand.',
  });
