import type { DigestPort, LayerReading, PolicyRule, ServerDefinition, UserSettings } from '../../actors/ports.js';
import { failure } from '../../machines/vocabulary.js';
import { type ConfigNode, type Field, idsNamedIn, parseDocument } from './document.js';
import { type EntryContext, tighteningOnly } from './entry-parts.js';
import { createFaults, type Faults } from './faults.js';
import { objectOf } from './fields.js';
import type { ConfigLayer } from './layers.js';
import { readTextFile } from './read-file.js';
import { readServer } from './server-entry.js';
import { isServerId, LIMITS, readSettings, readToolPolicies, SETTING_KEYS, warnUnknown } from './settings.js';

export interface LayerInput {
  readonly layer: ConfigLayer;
  readonly file: string;
  readonly root: string;
  readonly userFile: string;
  /** The user's settings as read so far; the user's own file brings them. */
  readonly settings: UserSettings;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly digest: DigestPort;
  /** Ids of lower layers, which this one's must not be mistaken for. */
  readonly lower: ReadonlySet<string>;
  /** Ids that count towards the limit over all layers, to which this one adds its own; `null` where none count. */
  readonly counted: Set<string> | null;
}

/** Reads one file of configuration. A rejected one contributes nothing: no server and no setting. */
export async function readLayer(input: LayerInput): Promise<LayerReading> {
  const { layer, file } = input;
  const reading = await readTextFile(file);
  if (reading.state === 'absent') return emptyReading(layer, file, 'absent', []);
  if (reading.state === 'faulty') {
    const { code, line, column, message } = reading;
    return emptyReading(layer, file, 'rejected', [{ file, line, column, key: '', code, message }]);
  }
  return readText(reading.text, createFaults(file, reading.text), input);
}

/** Reads what the host gives in code, by way of its JSON: the same rules, but no place in a file. */
export function readServersGiven(servers: object, input: LayerInput): Promise<LayerReading> {
  return readText(JSON.stringify({ mcpServers: servers }), createFaults(input.file, null), input);
}

export function emptyReading(
  layer: ConfigLayer,
  file: string,
  state: 'absent' | 'rejected',
  errors: LayerReading['errors'],
): LayerReading {
  return { layer: layer.layer, file, state, servers: [], settings: null, errors, warnings: [] };
}

/** `faults` is new, and of this text. */
export async function readText(text: string, faults: Faults, input: LayerInput): Promise<LayerReading> {
  const { layer, file } = input;
  const fields = topFields(parseDocument(text, faults), faults);
  await anotherTurn();
  const settings = layer.layer === 'user' ? readSettings(fields, faults) : null;
  const { entries, rest } = split(fields, faults);
  const context: EntryContext = { ...input, settings: settings ?? input.settings, faults };
  const rules = layer.isOwn ? [] : readTightening(fields, layer, faults);
  for (const field of rest) warnTopLevel(field, layer, faults);

  checkLookalikes(entries, faults);
  const servers = await readServers(entries, context, input.digest);
  if (faults.errors.length > 0) {
    const named = idsNamedIn(text).filter(isServerId);
    return { ...emptyReading(layer, file, 'rejected', faults.errors), warnings: faults.warnings, named };
  }
  const lower = new Map([...input.lower].map((id) => [folded(id), id]));
  const limited = servers.map((server) => {
    const own = withoutLookalike(withRules(server, rules), lower, faults);
    return input.counted === null ? own : withinLimit(own, context, input.counted);
  });
  return { layer: layer.layer, file, state: 'valid', servers: limited, settings, errors: [], warnings: faults.warnings };
}

/** Every entry costs a digest; a file of thousands must not hold up the loop. */
const ENTRIES_A_TURN = 50;

async function readServers(entries: readonly Field[], context: EntryContext, digest: DigestPort): Promise<ServerDefinition[]> {
  const servers: ServerDefinition[] = [];
  for (const [index, field] of entries.entries()) {
    if (index % ENTRIES_A_TURN === ENTRIES_A_TURN - 1) await anotherTurn();
    const server = readServer(field, context, digest);
    if (server !== null) servers.push(server);
  }
  return servers;
}

const anotherTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export function topFields(root: ConfigNode | null, faults: Faults): readonly Field[] {
  if (root === null) return [];
  return objectOf({ name: '', key: '', nameAt: 0, value: root }, faults) ?? [];
}

/**
 * The two forms of the file: entries under `mcpServers`, or entries at the top where that key is absent. There, every object
 * that is no setting of the user's stands for an entry, misspelt or not: a slip of the pen must reject the file, not empty
 * it. Other values at the top count as entries only beside a real one.
 */
export function split(fields: readonly Field[], faults: Faults): { entries: readonly Field[]; rest: readonly Field[] } {
  const wrapped = fields.find(({ name }) => name === 'mcpServers');
  if (wrapped !== undefined)
    return { entries: objectOf(wrapped, faults) ?? [], rest: fields.filter((field) => field !== wrapped) };
  const settings = fields.filter(({ name }) => SETTING_KEYS.has(name));
  const others = fields.filter(({ name }) => !SETTING_KEYS.has(name));
  if (others.some(looksLikeEntry)) return { entries: others, rest: settings };
  // The key of other programs is told by a warning of its own.
  const entries = others.filter(({ name, value }) => value.kind === 'object' && name !== 'servers');
  return { entries, rest: fields.filter((field) => !entries.includes(field)) };
}

function looksLikeEntry({ value }: Field): boolean {
  return value.kind === 'object' && value.fields.some(({ name }) => name === 'command' || name === 'url');
}

function warnTopLevel(field: Field, layer: ConfigLayer, faults: Faults): void {
  const { name, nameAt, key } = field;
  if (name === 'servers') {
    faults.warn(
      'CONFIG_UNKNOWN_FIELD',
      nameAt,
      key,
      'nothing reads this key, and no server was taken from it; the key is "mcpServers"',
    );
  } else if (!SETTING_KEYS.has(name)) warnUnknown(field, faults);
  else if (layer.layer !== 'user' && name !== 'toolPolicies') {
    faults.warn('CONFIG_UNKNOWN_FIELD', nameAt, key, 'only the user file may set this; the key is ignored');
  }
}

/** Two ids that differ in case only cannot be told apart by a person. */
function checkLookalikes(entries: readonly Field[], faults: Faults): void {
  const seen = new Set<string>();
  for (const { name, nameAt, key } of entries) {
    const fold = folded(name);
    if (seen.has(fold))
      faults.error('CONFIG_DUPLICATE_KEY', nameAt, key, 'another id of this file differs from this one in case only');
    seen.add(fold);
  }
}

const folded = (id: string): string => id.normalize('NFKC').toLowerCase();

const placeOf = ({ id, line, layer }: ServerDefinition, { file }: Faults): string =>
  `mcpServers.${id} (${layer.startsWith('plugin:') ? file : `${file}:${line}`})`;

/** The same id takes the place of a lower one, and is seen to; one that differs in case only would pass for it. */
function withoutLookalike(server: ServerDefinition, lower: ReadonlyMap<string, string>, faults: Faults): ServerDefinition {
  const other = lower.get(folded(server.id));
  if (other === undefined || other === server.id || server.refusal !== null) return server;
  const message = `${placeOf(server, faults)}: a lower layer has "${other}", which differs in case only`;
  return { ...server, refusal: failure('CONFIG_DUPLICATE_KEY', message, 'Rename one of the two.') };
}

function readTightening(fields: readonly Field[], layer: ConfigLayer, faults: Faults): readonly PolicyRule[] {
  const field = fields.find(({ name }) => name === 'toolPolicies');
  return field === undefined ? [] : tighteningOnly(readToolPolicies(field, layer.layer, faults), field, faults);
}

function withRules(server: ServerDefinition, rules: readonly PolicyRule[]): ServerDefinition {
  return { ...server, policies: [...server.policies, ...rules.filter((rule) => rule.server === server.id)] };
}

function withinLimit(server: ServerDefinition, { settings, userFile, faults }: EntryContext, ids: Set<string>): ServerDefinition {
  const max = settings.limits.servers ?? LIMITS.servers;
  const isOver = !ids.has(server.id) && ids.size >= max;
  if (!isOver) ids.add(server.id);
  if (!isOver || server.refusal !== null) return server;
  const message = `${placeOf(server, faults)}: more than ${max} servers`;
  const hint = `Remove servers, or raise "limits": { "servers": ${max + 1} } in ${userFile}.`;
  return { ...server, refusal: failure('CONFIG_LIMIT', message, hint) };
}
