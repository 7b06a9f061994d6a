import type { Json, LayerReading } from '../../actors/ports.js';
import { type ConfigNode } from './document.js';
import { jsonOf } from './edit-entries.js';
import { createFaults } from './faults.js';
import { type LayerInput, readText } from './read-layer.js';
import { LIMITS, NO_SETTINGS, SETTING_KEYS } from './settings.js';

export interface WantedServer {
  readonly id: string;
  readonly entry: { readonly [key: string]: Json };
}

export interface PutOutcome extends WantedServer {
  readonly action: 'added' | 'replaced' | 'same' | 'skipped';
  /** Why it was skipped; null for the others. */
  readonly why: string | null;
  /** What our own reader says of the entry; names keys, no values. */
  readonly notes: readonly string[];
}

export interface JudgeContext {
  readonly input: LayerInput;
  readonly existing: LayerReading;
  readonly home: { readonly path: readonly string[]; readonly entries: ReadonlyMap<string, ConfigNode> };
  readonly replace: boolean;
}

/** Every entry costs a parse; thousands must not hold up the loop. */
const ENTRIES_A_TURN = 50;

/** Decides for each wanted server, in order, what becomes of it. Who comes first keeps its id. */
export async function judgeServers(wanted: readonly WantedServer[], context: JudgeContext): Promise<readonly PutOutcome[]> {
  const { input, existing, home } = context;
  const taken = new Map([...home.entries].map(([id, node]) => [id, jsonOf(node)]));
  const spelt = new Map([...taken.keys()].map((id) => [id.toLowerCase(), id]));
  const settings = existing.settings ?? NO_SETTINGS;
  const max = settings.limits.servers ?? LIMITS.servers;
  const mine = new Set<string>();
  const outcomes: PutOutcome[] = [];
  for (const [index, { id, entry }] of wanted.entries()) {
    if (index % ENTRIES_A_TURN === ENTRIES_A_TURN - 1) await new Promise((resolve) => setImmediate(resolve));
    const put = (action: PutOutcome['action'], why: string | null = null, notes: readonly string[] = []): void => {
      outcomes.push({ id, entry, action, why, notes });
    };
    const old = taken.get(id);
    const other = spelt.get(id.toLowerCase());
    if (old !== undefined && isSame(old, entry)) put('same');
    else if (mine.has(id)) put('skipped', 'another server of this import has its id, and is not the same');
    else if (old !== undefined && !context.replace)
      put('skipped', 'your file has another server of this id; --replace takes its place');
    else if (old === undefined && other !== undefined) put('skipped', `"${other}" is there, which differs in case only`);
    else if (old === undefined && taken.size >= max)
      put('skipped', `more than ${max} servers; "limits": { "servers": ${taken.size + 1} } in your file would allow it`);
    else if (home.path.length === 0 && (SETTING_KEYS.has(id) || id === 'servers' || id === 'mcpServers'))
      put('skipped', 'this id has another meaning in your file, which has its servers at the top');
    else {
      const { problem, notes } = await verdictOf(id, entry, { ...input, settings });
      if (problem !== null) {
        put('skipped', problem);
        continue;
      }
      put(old === undefined ? 'added' : 'replaced', null, notes);
      taken.set(id, entry);
      spelt.set(id.toLowerCase(), id);
      mine.add(id);
    }
  }
  return outcomes;
}

interface Verdict {
  readonly problem: string | null;
  readonly notes: readonly string[];
}

/** What our own reader makes of the entry alone. What a person can still set right keeps it down, and is a note. */
async function verdictOf(id: string, entry: WantedServer['entry'], input: LayerInput): Promise<Verdict> {
  // In a layer of its own, where the settings of the user's file hold.
  const { layer, settings } = input;
  const text = JSON.stringify({ mcpServers: { [id]: entry }, remote: { plaintextHosts: settings.plaintextHosts } });
  const reading = await readText(text, createFaults('the entry', null), { ...input, layer, counted: null });
  const [fault] = reading.errors;
  if (fault !== undefined) return { problem: `${fault.key}: ${fault.message}`, notes: [] };
  const refusal = reading.servers[0]?.refusal ?? null;
  const warnings = reading.warnings.map(({ key, message }) => `${key}: ${message}`);
  if (refusal === null) return { problem: null, notes: warnings };
  const said = `${refusal.message}${refusal.hint === undefined ? '' : `. ${refusal.hint}`}`;
  const { url } = entry;
  const isPlaintext = refusal.code === 'REFUSED_URL' && typeof url === 'string' && /^http:/i.test(url);
  return refusal.code === 'UNSET_VARIABLE' || isPlaintext
    ? { problem: null, notes: [...warnings, `it stays down for now: ${said}`] }
    : { problem: said, notes: [] };
}

/** The same to our reader, whatever the order of keys and whether what goes without saying was said. */
const isSame = (one: Json, other: Json): boolean => plain(one, true) === plain(other, true);

function plain(value: Json, isEntry = false): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isList(value)) return `[${value.map((item) => plain(item)).join()}]`;
  const fields = Object.entries(value).filter(([name, inner]) => !(isEntry && goesWithoutSaying(name, inner, value)));
  return `{${fields
    .map(([name, inner]) => `${JSON.stringify(name)}:${plain(inner)}`)
    .sort()
    .join()}}`;
}

function goesWithoutSaying(name: string, value: Json, entry: { readonly [key: string]: Json }): boolean {
  if (name === 'type') return value === (entry['command'] === undefined ? 'http' : 'stdio');
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  return isEmpty && ['args', 'env', 'headers'].includes(name);
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);
