import { supervisorError } from '../../actors/errors.js';
import type { ConfigFault } from '../../actors/ports.js';
import { parseForeignJson, readForeignText } from '../config/foreign-file.js';
import { type ImportedServer, KNOWN_KEYS, serversIn } from '../import/find-servers.js';
import { readToml } from '../import/toml.js';
import { quoted } from '../shared/visible-text.js';
import { renderFault } from './render-status.js';

/** One file of another program, as it was read. */
export interface ImportSource {
  readonly file: string;
  /** Null when the file has none of the shapes that are known: no servers are another thing than servers nobody saw. */
  readonly servers: readonly ImportedServer[] | null;
}

/** Reads one file of another program, by its shape. Null when there is no file; the fault of one that cannot be read. */
export async function readSource(file: string): Promise<ImportSource | ConfigFault | null> {
  const { text, fault } = await readForeignText(file);
  if (fault !== undefined) return fault;
  if (text === null) return null;
  const parsed = parse(text, file);
  return parsed.fault ?? { file, servers: serversIn(parsed.value, file) };
}

/** The file that was named. Rejects with its fault, and with `CONFIG_INVALID` when nothing in it can be told for servers (B073). */
export async function sourceNamed(file: string): Promise<ImportSource> {
  const source = await readSource(file);
  if (source === null) throw supervisorError('CONFIG_UNREADABLE', `${quoted(file)} does not exist.`);
  if ('code' in source) throw supervisorError(source.code, renderFault(source));
  if (source.servers === null)
    throw supervisorError('CONFIG_INVALID', `${quoted(file)} has no servers in a form that is known.`, {
      hint: `They stand under one of these keys: ${KNOWN_KEYS.join(', ')}.`,
    });
  return source;
}

export interface Discovery {
  /** Files that have servers. */
  readonly sources: readonly ImportSource[];
  /** Files that cannot be read. */
  readonly faults: readonly ConfigFault[];
}

/** What the programs of this machine have, in the order in which they are looked for. */
export async function discoverSources(places: readonly string[]): Promise<Discovery> {
  const sources: ImportSource[] = [];
  const faults: ConfigFault[] = [];
  for (const place of places) {
    const source = await readSource(place);
    if (source === null) continue;
    if ('code' in source) faults.push(source);
    else if (source.servers !== null && source.servers.length > 0) sources.push(source);
  }
  return { sources, faults };
}

/** JSON unless its name or its text says TOML. */
function parse(text: string, file: string): ReturnType<typeof parseForeignJson> {
  const json = file.endsWith('.toml') ? null : parseForeignJson(text, file);
  if (json !== null && (json.fault === undefined || !/^[ \t]*\[+[ \t]*["']?mcp_servers\b/m.test(text))) return json;
  const { value, line, column } = readToml(text);
  if (value !== undefined) return { value };
  return { fault: { file, line, column, key: '', code: 'CONFIG_SYNTAX', message: 'is not TOML' } };
}
