import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SupervisorError, supervisorError } from '../../actors/errors.js';
import type { ConfigFault, GrantsPort, GrantsReading } from '../../actors/ports.js';
import { isInside, OutsideError, writeAtomically } from '../shared/atomic-write.js';
import { type ConfigNode, parseDocument } from './document.js';
import { meaningOf, withItem, withKey } from './edit-document.js';
import { createFaults } from './faults.js';
import { stringsOf } from './fields.js';
import { BOM, errorCode, readTextFile } from './read-file.js';
import { topFields } from './read-layer.js';

const KEY = 'allowMcpTools';
/** What names of tools are made of: a pattern, or the name a server gives, stands for nothing. */
const FULL_NAME = /^mcp__[A-Za-z0-9_-]{1,59}$/;
/** A file that changes between reading and writing is read once more. */
const ATTEMPTS = 2;

/** Where the approvals of tools stand that a person wants remembered in this workspace. */
export const grantsFileOf = (root: string, hostDir: string): string => join(root, hostDir, 'permissions.local.json');

/**
 * `permissions.local.json` in the host's directory of a workspace: exact full names under `allowMcpTools`, other keys left
 * alone. It is neither read nor written where it leads out of the workspace. Additions are made one after the other.
 */
export function createGrantsFile({ hostDir }: { readonly hostDir: string }): GrantsPort {
  let adding: Promise<unknown> = Promise.resolve();
  return {
    async read({ root }) {
      const file = grantsFileOf(root, hostDir);
      try {
        return await readGrants(file, root);
      } catch (error) {
        return faulty(file, [faultOf(file, 'CONFIG_UNREADABLE', `cannot be read (${errorCode(error)})`)]);
      }
    },
    add({ root }, tool) {
      const file = grantsFileOf(root, hostDir);
      const made = adding.then(() => addGrant(file, root, tool));
      adding = made.catch(() => undefined);
      return made.then(() => ({ file }));
    },
  };
}

async function readGrants(file: string, root: string): Promise<GrantsReading> {
  const reading = await readTextFile(file);
  if (reading.state === 'absent') return { file, state: 'absent', tools: [], faults: [] };
  if (!(await leadsInside(file, root)))
    return faulty(file, [faultOf(file, 'CONFIG_UNREADABLE', 'leads out of the workspace; it is not read')]);
  if (reading.state === 'faulty') {
    const { code, line, column, message } = reading;
    return faulty(file, [{ file, line, column, key: '', code, message }]);
  }
  const { tools, faults } = listedIn(reading.text, file);
  return faults.length === 0 ? { file, state: 'valid', tools, faults } : faulty(file, faults);
}

/** The names under the key, and the whole of the file. */
function listedIn(text: string, file: string) {
  const faults = createFaults(file, text);
  const document = parseDocument(text, faults);
  const field = topFields(document, faults).find(({ name }) => name === KEY);
  const texts = field === undefined ? [] : (stringsOf(field, faults) ?? []);
  for (const { text: tool, at, key } of texts) {
    if (!FULL_NAME.test(tool)) faults.error('CONFIG_INVALID', at, key, 'expected the full name of one tool, mcp__server__tool');
  }
  return { document, tools: [...new Set(texts.map(({ text: tool }) => tool))], faults: faults.errors };
}

async function addGrant(file: string, root: string, tool: string): Promise<void> {
  if (!FULL_NAME.test(tool)) throw supervisorError('CONFIG_INVALID', `"${tool.slice(0, 64)}" is no full name of a tool`);
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      if (await attemptAdd(file, root, tool)) return;
    }
  } catch (error) {
    if (SupervisorError.is(error)) throw error;
    if (error instanceof OutsideError) throw outside(file);
    throw supervisorError('CONFIG_UNREADABLE', `"${file}" cannot be written (${errorCode(error)})`, { cause: error });
  }
  throw supervisorError('CONFIG_UNREADABLE', `"${file}" keeps changing; nothing was written`, { hint: 'Try again.' });
}

/** False when somebody else wrote meanwhile. */
async function attemptAdd(file: string, root: string, tool: string): Promise<boolean> {
  if (!(await leadsInside(file, root))) throw outside(file);
  const reading = await readTextFile(file);
  if (reading.state === 'faulty') throw supervisorError(reading.code, `"${file}" ${reading.message}`);
  if (reading.state === 'absent') {
    const content = `${JSON.stringify({ [KEY]: [tool] }, null, 2)}\n`;
    return writeAtomically({ file, content, expected: null, within: root });
  }
  const { text, hasBom } = reading;
  const content = withTool(text, file, tool);
  if (content === text) return true;
  const bom = hasBom ? BOM : '';
  return writeAtomically({ file, content: bom + content, expected: bom + text, within: root });
}

/** The new text, seen to say what was meant. */
function withTool(text: string, file: string, tool: string): string {
  const before = listedIn(text, file);
  const [fault] = before.faults;
  if (fault !== undefined) {
    const place = `${file}:${fault.line ?? 1}`;
    throw supervisorError('CONFIG_INVALID', `${place}: ${fault.message}; the file was not changed`, {
      hint: 'Mend the file first.',
    });
  }
  if (before.tools.includes(tool)) return text;
  const content = withItem(text, KEY, tool) ?? withKey(text, [KEY], [tool]);
  const after = listedIn(content, file);
  const isMeant =
    after.faults.length === 0 && new Set(after.tools).size === before.tools.length + 1 && after.tools.includes(tool);
  if (!isMeant || othersOf(after.document) !== othersOf(before.document))
    throw supervisorError('CONFIG_INVALID', `${file}: the change cannot be made safely; the file was not changed`);
  return content;
}

/** All that the file says besides. */
const othersOf = (document: ConfigNode | null): string =>
  document?.kind === 'object' ? meaningOf({ ...document, fields: document.fields.filter(({ name }) => name !== KEY) }) : '';

/** Whether the nearest thing on the way to a file that exists is in the workspace, links followed. */
async function leadsInside(file: string, root: string): Promise<boolean> {
  for (let path = file; path !== dirname(path); path = dirname(path)) {
    try {
      return isInside(root, await realpath(path));
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error;
    }
  }
  return false;
}

const outside = (file: string): SupervisorError =>
  supervisorError('CONFIG_UNREADABLE', `"${file}" leads out of the workspace; it is not written`, {
    hint: 'Take away the link.',
  });

const faultOf = (file: string, code: ConfigFault['code'], message: string): ConfigFault => ({
  file,
  line: null,
  column: null,
  key: '',
  code,
  message,
});

const faulty = (file: string, faults: readonly ConfigFault[]): GrantsReading => ({ file, state: 'faulty', tools: [], faults });
