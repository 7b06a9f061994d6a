import type { ListedItem } from '../machines/list-walk.js';
import { byFullName } from '../machines/ranking.js';
import { LIST_KINDS, type ListKind, type ListState, type ServerId } from '../machines/vocabulary.js';
import type { ToolListing, ToolsStatus } from './api.js';
import { type KnownList, type ListOutcome, NOTHING, takeFormer, takeOutcome } from './known-list.js';
import { type CatalogueListing, inListingOrder, type ListingPage, listingPage, type PageRequest } from './listing-page.js';
import type { DigestPort, Metadata } from './ports.js';
import { KnownDefinitions, preparedName, ToolEntry } from './tool-entry.js';
import { type SearchPage, type SearchQuery, searchTools, type ToolIndex, toolIndex } from './tool-search.js';

export type { SearchPage, SearchQuery };

const GONE_MAX = 1_000;

interface KnownServer {
  live: boolean;
  /** Whether what would run has the approval it needs. */
  approved: boolean;
  readonly lists: Map<ListKind, KnownList>;
  toolLimit: number;
  /** By original name; of the list of tools as it was when somebody last asked. */
  tools: ReadonlyMap<string, ToolEntry>;
  /** Of tools that were listed once and are not now: who comes back changed has still changed. */
  readonly gone: Map<string, KnownDefinitions>;
  /** Its tools in the order of full names, and as a search looks at them; built when first asked for after a change. */
  index: ToolIndex | null;
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
      known.toolLimit = outcome.toolLimit;
    }
    this.setLive(server, outcome.live);
    known.lists.set(kind, takeOutcome(known.lists.get(kind) ?? NOTHING, outcome));
    this.#listings.clear();
  }

  /**
   * Takes the lists a former run read completely. Where something newer is known it stays: a walk that read only a part adds
   * to them as it would to a complete one of this run. Nothing of them counts as live.
   */
  load(server: ServerId, { lists }: Pick<Metadata, 'lists'>, toolLimit: number): void {
    const known = this.#known(server);
    for (const kind of LIST_KINDS) {
      const items = lists[kind];
      const newer = known.lists.get(kind);
      if (items === undefined || (newer !== undefined && newer.lastComplete !== null)) continue;
      if (kind === 'tools') {
        this.#enter(server);
        this.#unentered.add(server);
        known.toolLimit = newer === undefined ? toolLimit : known.toolLimit;
      }
      known.lists.set(kind, takeFormer(newer ?? NOTHING, items));
    }
    this.#listings.clear();
  }

  /** What to keep for the next run: the lists last read completely, however their last walk ended. */
  metadata(server: ServerId, facts: Omit<Metadata, 'lists'>): Metadata {
    const lists: Partial<Record<ListKind, readonly ListedItem[]>> = {};
    for (const [kind, list] of this.#servers.get(server)?.lists ?? []) {
      if (list.lastComplete !== null) lists[kind] = list.lastComplete;
    }
    return { ...facts, lists };
  }

  /** Whether the server runs; what is known of one that does not is marked cached. */
  setLive(server: ServerId, live: boolean): void {
    const known = this.#servers.get(server);
    if (known === undefined || known.live === live) return;
    known.live = live;
    this.#listings.clear();
  }

  /** Whether the server may run as it is; the tools of one that waits for an approval are found, marked as such. */
  setApproved(server: ServerId, approved: boolean): void {
    this.#known(server).approved = approved;
  }

  /** Forgets a server. */
  drop(server: ServerId): void {
    for (const entry of this.#servers.get(server)?.tools.values() ?? []) this.#byName.delete(entry.fullName);
    this.#servers.delete(server);
    this.#unentered.delete(server);
    this.#listings.clear();
  }

  tool(name: string): ToolEntry | undefined {
    return this.#entered().get(name);
  }

  /** By the name its server gives it. */
  toolOf(server: ServerId, tool: string): ToolEntry | undefined {
    this.#entered();
    return this.#servers.get(server)?.tools.get(tool);
  }

  /** Every tool, in no order. */
  entries(): Iterable<ToolEntry> {
    return this.#entered().values();
  }

  /** A person has seen the changed definition of this tool and said yes; it counts as known from now on. */
  acceptChange(name: string): void {
    this.tool(name)?.acceptDefinition();
  }

  tools(): readonly ToolListing[] {
    return this.#indexes()
      .flatMap(({ entries }) => entries)
      .sort(byFullName)
      .map((entry) => entry.listing());
  }

  /** How many tools of a server are past the limit of tools. */
  overLimit(server: ServerId): number {
    const known = this.#servers.get(server);
    return Math.max(0, (known?.lists.get('tools') ?? NOTHING).items.size - (known?.toolLimit ?? 0));
  }

  /** Tools by rank. `INVALID_ARGUMENTS` for a query that is too long and a cursor that is none of ours. */
  search(query: SearchQuery): SearchPage {
    return searchTools(this.#indexes(query.server), query);
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
  }

  #known(server: ServerId): KnownServer {
    const found = this.#servers.get(server);
    if (found !== undefined) return found;
    const known: KnownServer = {
      live: false,
      approved: true,
      lists: new Map(),
      toolLimit: 0,
      tools: new Map(),
      gone: new Map(),
      index: null,
    };
    this.#servers.set(server, known);
    return known;
  }

  #entered(): ReadonlyMap<string, ToolEntry> {
    for (const server of this.#unentered) this.#enter(server);
    return this.#byName;
  }

  /** A server may have ten thousand tools: what is costly to make of them was prepared when they were verified. */
  #enter(server: ServerId): void {
    if (!this.#unentered.delete(server)) return;
    const known = this.#known(server);
    const { items, stale } = known.lists.get('tools') as KnownList;
    const context = { isLive: () => known.live, isApproved: () => known.approved, digest: this.#digest };
    known.index = null;
    for (const entry of known.tools.values()) {
      this.#byName.delete(entry.fullName);
      if (!items.has(entry.tool) && known.gone.size < GONE_MAX) known.gone.set(entry.tool, entry.known);
    }
    const tools = new Map<string, ToolEntry>();
    for (const item of items.values()) {
      const { key, definition } = item;
      const before = known.tools.get(key);
      const name = before?.fullName ?? preparedName(server, item, this.#digest);
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

  /** Of one server, or of all. */
  #indexes(server?: ServerId): readonly ToolIndex[] {
    this.#entered();
    const chosen = server === undefined ? [...this.#servers.values()] : [this.#servers.get(server)];
    return chosen.flatMap((known) => {
      if (known === undefined || known.tools.size === 0) return [];
      known.index ??= toolIndex([...known.tools.values()]);
      return [known.index];
    });
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
