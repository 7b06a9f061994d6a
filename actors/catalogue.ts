import type { ListedItem } from '../machines/list-walk.js';
import { fullName } from '../machines/names.js';
import { byFullName, rank } from '../machines/ranking.js';
import { LIST_KINDS, type ListKind, type ListState, type ServerId } from '../machines/vocabulary.js';
import type { ToolListing, ToolsStatus } from './api.js';
import { supervisorError } from './errors.js';
import { type KnownList, type ListOutcome, NOTHING, takeOutcome } from './known-list.js';
import { type CatalogueListing, hitOf, inListingOrder, type ListingPage, listingPage, type PageRequest } from './listing-page.js';
import type { DigestPort, Metadata } from './ports.js';
import { KnownDefinitions, ToolEntry } from './tool-entry.js';

export interface SearchQuery {
  readonly query: string;
  readonly server?: ServerId | undefined;
  /** Default 12, at most 40. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  /** Only tools whose texts this says yes to. */
  readonly admits?: ((entry: ToolEntry) => boolean) | undefined;
}

export interface SearchPage {
  readonly hits: readonly { readonly entry: ToolEntry; readonly score: number }[];
  readonly total: number;
  readonly nextCursor: string | null;
}

const SEARCH_DEFAULT = 12;
const SEARCH_MAX = 40;
const TERMS_MAX = 16;
const QUERY_UNITS_MAX = 512;
const GONE_MAX = 1_000;

interface KnownServer {
  live: boolean;
  readonly lists: Map<ListKind, KnownList>;
  toolLimit: number;
  /** By original name; of the list of tools as it was when somebody last asked. */
  tools: ReadonlyMap<string, ToolEntry>;
  /** Of tools that were listed once and are not now: who comes back changed has still changed. */
  readonly gone: Map<string, KnownDefinitions>;
}

/**
 * What every server offers, as far as it was verified. Keeps data only: it starts nothing, asks nobody, and shows what the
 * workspace puts into it. Lookups by full name are one Map get.
 */
export class Catalogue {
  readonly #digest: DigestPort;
  readonly #servers = new Map<ServerId, KnownServer>();
  readonly #byName = new Map<string, ToolEntry>();
  /** Whose tools are not entered under their full names yet: that is done when first asked for after a change. */
  readonly #unentered = new Set<ServerId>();
  /** In the order of full names; built when first asked for after a change. */
  #sorted: readonly ToolEntry[] | null = null;
  /** In order of server and key, by the kinds listed together; built when first asked for after a change. */
  readonly #listings = new Map<string, readonly CatalogueListing[]>();

  constructor({ digest }: { readonly digest: DigestPort }) {
    this.#digest = digest;
  }

  /**
   * Takes one list of one server. A complete walk replaces what was known; another one only adds to the last complete one,
   * whose items it did not see stay and are marked stale.
   */
  put(server: ServerId, kind: ListKind, outcome: ListOutcome): void {
    const known = this.#known(server);
    if (kind === 'tools') {
      // What was listed before counts as known, though nobody asked for it.
      this.#enter(server);
      this.#unentered.add(server);
      this.#sorted = null;
      known.toolLimit = outcome.toolLimit;
    }
    this.setLive(server, outcome.live);
    known.lists.set(kind, takeOutcome(known.lists.get(kind) ?? NOTHING, outcome));
    this.#listings.clear();
  }

  /** Takes the lists a former run read completely, where nothing newer is known; nothing of it counts as live. */
  load(server: ServerId, metadata: Metadata, toolLimit: number): void {
    const known = this.#servers.get(server)?.lists;
    for (const kind of LIST_KINDS.filter((one) => known?.has(one) !== true)) {
      const items = metadata.lists[kind];
      if (items !== undefined)
        this.put(server, kind, { items, state: 'complete', reason: null, skipped: [], live: false, toolLimit });
    }
  }

  /** What to keep for the next run: the lists last read completely, however their last walk ended. */
  metadata(server: ServerId, savedAtMs: number): Metadata {
    const lists: Partial<Record<ListKind, readonly ListedItem[]>> = {};
    for (const [kind, list] of this.#servers.get(server)?.lists ?? []) {
      if (list.lastComplete !== null) lists[kind] = list.lastComplete;
    }
    return { savedAtMs, lists };
  }

  /** Whether the server runs; what is known of one that does not is marked cached. */
  setLive(server: ServerId, live: boolean): void {
    const known = this.#servers.get(server);
    if (known === undefined || known.live === live) return;
    known.live = live;
    this.#listings.clear();
  }

  /** Forgets a server. */
  drop(server: ServerId): void {
    for (const entry of this.#servers.get(server)?.tools.values() ?? []) this.#byName.delete(entry.fullName);
    this.#servers.delete(server);
    this.#unentered.delete(server);
    this.#sorted = null;
    this.#listings.clear();
  }

  tool(name: string): ToolEntry | undefined {
    return this.#entered().get(name);
  }

  /** A person has seen the changed definition of this tool and said yes; it counts as known from now on. */
  acceptChange(name: string): void {
    this.tool(name)?.acceptDefinition();
  }

  tools(): readonly ToolListing[] {
    return this.#inOrder().map((entry) => entry.listing());
  }

  /** How many tools of a server are past the limit of tools. */
  overLimit(server: ServerId): number {
    const known = this.#servers.get(server);
    return Math.max(0, (known?.lists.get('tools') ?? NOTHING).items.size - (known?.toolLimit ?? 0));
  }

  /** Tools by rank. `INVALID_ARGUMENTS` for a query that is too long and a cursor that is none of ours. */
  search({ query, server, limit = SEARCH_DEFAULT, cursor, admits }: SearchQuery): SearchPage {
    if (query.length > QUERY_UNITS_MAX || query.trim().split(/\s+/).length > TERMS_MAX) {
      throw supervisorError('INVALID_ARGUMENTS', `"query" takes at most ${TERMS_MAX} terms and ${QUERY_UNITS_MAX} characters`);
    }
    const entries = this.#inOrder();
    const ranked = entries.map((entry) => entry.ranked);
    const at = (position: number): ToolEntry => entries[position] as ToolEntry;
    const { hits, total, left } = rank(ranked, {
      text: query,
      limit: Math.min(limit, SEARCH_MAX),
      ...(server === undefined ? {} : { server }),
      ...(cursor === undefined ? {} : { after: hitOf(cursor) }),
      ...(admits === undefined ? {} : { admits: (position: number) => admits(at(position)) }),
    });
    const found = hits.map(({ position, score }) => ({ entry: at(position), score }));
    const last = found.at(-1);
    return { hits: found, total, nextCursor: left > 0 && last !== undefined ? `${last.score} ${last.entry.fullName}` : null };
  }

  resources(server?: ServerId, page: PageRequest = {}): ListingPage {
    return listingPage(this.#listed(['resources']), server, page);
  }

  templates(server?: ServerId, page: PageRequest = {}): ListingPage {
    return listingPage(this.#listed(['resourceTemplates']), server, page);
  }

  /** Resources and templates in one sequence of pages; `kind` tells them apart. */
  readables(server?: ServerId, page: PageRequest = {}): ListingPage {
    return listingPage(this.#listed(['resources', 'resourceTemplates']), server, page);
  }

  prompts(server?: ServerId, page: PageRequest = {}): ListingPage {
    return listingPage(this.#listed(['prompts']), server, page);
  }

  prompt(server: ServerId, name: string): CatalogueListing | undefined {
    const known = this.#servers.get(server);
    const list = known?.lists.get('prompts');
    const item = list?.items.get(name);
    if (known === undefined || list === undefined || item === undefined) return undefined;
    return { server, kind: 'prompts', ...item, cached: !known.live || list.stale.has(name) };
  }

  hasResource(server: ServerId, uri: string): boolean {
    return this.#servers.get(server)?.lists.get('resources')?.items.has(uri) ?? false;
  }

  /** State and count of every list of a server; `unknown` and 0 where nothing is known. */
  counts(server: ServerId): { tools: ToolsStatus; resources: ListState; resourceTemplates: ListState; prompts: ListState } {
    const lists = this.#servers.get(server)?.lists;
    const stateOf = (kind: ListKind): ListState => {
      const { state, items, reason } = lists?.get(kind) ?? NOTHING;
      return { state, count: items.size, reason };
    };
    const skipped = (lists?.get('tools') ?? NOTHING).skipped.map(({ key, code }) => ({ name: key, code }));
    return {
      tools: { ...stateOf('tools'), skipped },
      resources: stateOf('resources'),
      resourceTemplates: stateOf('resourceTemplates'),
      prompts: stateOf('prompts'),
    };
  }

  /** Another limit counts at once, not from the next listing on. */
  limitTools(server: ServerId, toolLimit: number): void {
    const known = this.#servers.get(server);
    if (known === undefined || known.toolLimit === toolLimit) return;
    this.#enter(server);
    known.toolLimit = toolLimit;
    if (!known.lists.has('tools')) return;
    this.#unentered.add(server);
    this.#sorted = null;
  }

  #known(server: ServerId): KnownServer {
    const found = this.#servers.get(server);
    if (found !== undefined) return found;
    const known: KnownServer = { live: false, lists: new Map(), toolLimit: 0, tools: new Map(), gone: new Map() };
    this.#servers.set(server, known);
    return known;
  }

  #entered(): ReadonlyMap<string, ToolEntry> {
    for (const server of this.#unentered) this.#enter(server);
    return this.#byName;
  }

  /** A server may have ten thousand tools: nothing is cleaned or lowered here, and only a name that needs it is digested. */
  #enter(server: ServerId): void {
    if (!this.#unentered.delete(server)) return;
    const known = this.#known(server);
    const { items, stale } = known.lists.get('tools') as KnownList;
    const context = { isLive: () => known.live, digest: this.#digest };
    for (const entry of known.tools.values()) {
      this.#byName.delete(entry.fullName);
      if (!items.has(entry.tool) && known.gone.size < GONE_MAX) known.gone.set(entry.tool, entry.known);
    }
    const tools = new Map<string, ToolEntry>();
    for (const { key, definition } of items.values()) {
      const before = known.tools.get(key);
      const name = before?.fullName ?? fullName(server, key, (text) => this.#digest.ofJson(text));
      // Names of two tools cannot meet; should a digest ever fail us, the first one stays and the other is not there.
      if (this.#byName.has(name)) continue;
      const entry = new ToolEntry(
        { server, tool: key, fullName: name, definition, overLimit: tools.size >= known.toolLimit, stale: stale.has(key) },
        before?.known ?? known.gone.get(key) ?? new KnownDefinitions(definition),
        context,
      );
      tools.set(key, entry);
      this.#byName.set(name, entry);
    }
    known.tools = tools;
  }

  #inOrder(): readonly ToolEntry[] {
    this.#sorted ??= [...this.#entered().values()].sort(byFullName);
    return this.#sorted;
  }

  #listed(kinds: readonly ListKind[]): readonly CatalogueListing[] {
    const built = this.#listings.get(kinds.join());
    if (built !== undefined) return built;
    const listed = [...this.#servers].flatMap(([server, { live, lists }]) =>
      kinds.flatMap((kind) => {
        const { items, stale } = lists.get(kind) ?? NOTHING;
        return [...items.values()].map((item) => ({ ...item, server, kind, cached: !live || stale.has(item.key) }));
      }),
    );
    const sorted = inListingOrder(listed);
    this.#listings.set(kinds.join(), sorted);
    return sorted;
  }
}
