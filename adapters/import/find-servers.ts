import { basename, dirname } from 'node:path';
import type { Json } from '../../actors/ports.js';
import { DIALECTS, type Format } from './dialects.js';
import { EntryDraft, type ImportNote, isObject, type JsonObject } from './entry-draft.js';
import { takeAll } from './takes.js';

export interface ImportedServer {
  readonly format: Format;
  /** Where it stands in its file, and under which name there. */
  readonly place: string;
  readonly name: string;
  /** The entry as ours; null when `refusal` says why there is none. */
  readonly entry: JsonObject | null;
  readonly refusal: ImportNote | null;
  readonly notes: readonly ImportNote[];
}

/** The keys under which programs keep their servers. */
export const KNOWN_KEYS = ['mcpServers', 'projects', 'servers', 'mcp', 'context_servers', 'mcp_servers'] as const;

/**
 * The servers of one parsed file, by its shape; where several programs share a shape, by the file's name and then by the keys
 * of the entries. Null when it has none of the known shapes, which is not the same as having no servers.
 */
export function serversIn(root: Json, file: string): readonly ImportedServer[] | null {
  if (!isObject(root)) return null;
  const groups = [...mcpServers(root, file), ...projects(root), ...others(root)];
  return groups.length === 0 ? null : groups.flatMap(serversOf);
}

interface Group {
  readonly format: Format;
  readonly place: string;
  readonly servers: JsonObject;
  /** Said of each of them. */
  readonly note?: string;
  /** Names that the program itself passes over. */
  readonly isOff?: (name: string) => boolean;
}

function mcpServers({ mcpServers: servers, mcp }: JsonObject, file: string): Group[] {
  if (!isObject(servers)) return [];
  const format = formatOfName(file) ?? formatOfEntries(servers);
  const place = 'mcpServers';
  return format === 'gemini' && isObject(mcp) ? [{ format, place, servers, isOff: offFor(mcp) }] : [{ format, place, servers }];
}

/** Claude Code keeps those of one project under the project's path. */
function projects({ projects: all }: JsonObject): Group[] {
  return Object.entries(isObject(all) ? all : {}).flatMap(([path, project]) => {
    const servers = isObject(project) ? project['mcpServers'] : undefined;
    if (!isObject(servers) || Object.keys(servers).length === 0) return [];
    const note = 'it was for one project only; from your file it serves every workspace';
    return [{ format: 'claude-code', place: `projects.${JSON.stringify(path)}.mcpServers`, servers, note }];
  });
}

function others(root: JsonObject): Group[] {
  const { servers, mcp, context_servers: zed, mcp_servers: codex } = root;
  const groups: Group[] = [];
  if (isObject(servers)) groups.push({ format: 'vscode', place: 'servers', servers });
  if (isObject(mcp)) {
    const { servers: inside } = mcp;
    // Settings of VS Code before it had a file for servers.
    if (isObject(inside)) groups.push({ format: 'vscode', place: 'mcp.servers', servers: inside });
    else if (Object.values(mcp).some(isOpenCode)) groups.push({ format: 'opencode', place: 'mcp', servers: mcp });
  }
  if (isObject(zed)) groups.push({ format: 'zed', place: 'context_servers', servers: zed });
  if (isObject(codex)) groups.push({ format: 'codex', place: 'mcp_servers', servers: codex });
  return groups;
}

const isOpenCode = (entry: Json): boolean => isObject(entry) && (entry['type'] === 'local' || entry['type'] === 'remote');

/** Gemini's lists of servers that alone are used, or are not. */
function offFor({ allowed, excluded }: JsonObject): (name: string) => boolean {
  const holds = (list: Json | undefined, name: string): boolean => Array.isArray(list) && list.includes(name);
  return (name) => holds(excluded, name) || (Array.isArray(allowed) && !holds(allowed, name));
}

/** Of programs that share the key `mcpServers`. */
function formatOfName(file: string): Format | null {
  const [name, folder] = [basename(file), basename(dirname(file))];
  if (name === 'claude_desktop_config.json') return 'claude-desktop';
  if (name === '.claude.json' || name === '.mcp.json') return 'claude-code';
  if (name === 'mcp_config.json') return 'windsurf';
  if (folder === '.cursor') return 'cursor';
  return folder === '.gemini' ? 'gemini' : null;
}

function formatOfEntries(servers: JsonObject): Format {
  const entries = Object.values(servers).filter(isObject);
  const has = (...keys: readonly string[]): boolean => entries.some((entry) => keys.some((key) => Object.hasOwn(entry, key)));
  if (has('serverUrl')) return 'windsurf';
  if (has('httpUrl', 'trust', 'includeTools', 'excludeTools')) return 'gemini';
  return has('envFile', 'auth') || JSON.stringify(entries).includes('${env:') ? 'cursor' : 'claude-code';
}

function serversOf({ format, place, servers, note, isOff }: Group): ImportedServer[] {
  return Object.entries(servers).map(([name, raw]) => {
    const draft = new EntryDraft(DIALECTS[format].variables, isObject(raw) ? raw : {});
    if (!isObject(raw)) draft.refuse('', 'is no object');
    else if (isOff?.(name) === true) draft.refuse('', 'it is switched off there, and an entry here begins switched on');
    else {
      takeAll(draft, DIALECTS[format].takes, raw);
      DIALECTS[format].finish?.(draft, raw);
      if (note !== undefined) draft.note('', note);
      if (draft.entry['command'] === undefined && draft.entry['url'] === undefined)
        draft.refuse('', 'has neither a command nor an address');
    }
    const { entry, notes, refusal } = draft;
    return {
      format,
      place,
      name,
      entry: refusal === null ? inOrder(entry) : null,
      refusal,
      notes: refusal === null ? notes : [],
    };
  });
}

/** As a person would write it, whatever the order there. */
const ORDER = 'type command args env cwd url headers oauth timeout initTimeout tools description'.split(' ');
const inOrder = (entry: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(entry).sort(([one], [other]) => ORDER.indexOf(one) - ORDER.indexOf(other)));
