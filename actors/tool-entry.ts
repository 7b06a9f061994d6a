import { modelDescription } from '../machines/items.js';
import type { ListedItem } from '../machines/list-walk.js';
import { fullName } from '../machines/names.js';
import { type RankedTool, rankedTool } from '../machines/ranking.js';
import type { ServerId } from '../machines/vocabulary.js';
import type { ToolListing } from './api.js';
import type { DigestPort, Json } from './ports.js';

type Definition = ListedItem['definition'];

/** As JSON writes one. A text that says so itself is digested the same way each time, which is all that counts. */
const LONE_SURROGATE = /\\ud[89a-f]/;

export interface ToolFacts {
  readonly server: ServerId;
  /** What the server calls it. */
  readonly tool: string;
  readonly fullName: string;
  readonly definition: Definition;
  /** Past the limit of tools: searchable, not callable. */
  readonly overLimit: boolean;
  /** Not seen by the last walk, seen by the last complete one. */
  readonly stale: boolean;
}

/** What a catalogue needs of a tool besides its definition; costly to make, and the same each time. */
export interface PreparedTool {
  readonly server: ServerId;
  readonly fullName: string;
  /** For a model: cleaned and cut. */
  readonly description: string;
  /** As a search looks at it. */
  readonly ranked: RankedTool;
}

/** By definition, which nobody changes. A server may send ten thousand long ones: to prepare them takes a second. */
const prepared = new WeakMap<Definition, PreparedTool>();

/** Names and cleans a tool now, so that nothing has to be when the catalogue is asked for all of them. */
export function prepareTool(
  server: ServerId,
  { key, definition }: ListedItem,
  digest: DigestPort,
  knownName?: string,
): PreparedTool {
  const before = prepared.get(definition);
  if (before?.server === server) return before;
  const name = knownName ?? fullName(server, key, (text) => digest.ofJson(text));
  const description = before?.description ?? modelDescription(definition);
  const ranked = rankedTool({ fullName: name, tool: key, server, description });
  const made = { server, fullName: name, description, ranked };
  prepared.set(definition, made);
  return made;
}

/** The full name of a tool, which is all a lookup needs of it. */
export function preparedName(server: ServerId, { key, definition }: ListedItem, digest: DigestPort): string {
  const before = prepared.get(definition);
  return before?.server === server ? before.fullName : fullName(server, key, (text) => digest.ofJson(text));
}

/** What has no canonical form (a lone surrogate in a description) is digested as the text of its JSON, where it is escaped. */
function definitionDigest(digest: DigestPort, definition: Definition): string {
  const text = JSON.stringify(definition);
  return digest.ofJson(LONE_SURROGATE.test(text) ? text : (definition as Json));
}

/**
 * What is no change when a tool is listed again: its first definition, and those a person agreed to. Shared by all listings of a
 * tool; nothing is digested before somebody asks.
 */
export class KnownDefinitions {
  /** Made when needed: most tools never change. */
  #digests: Set<string> | null = null;
  #first: Definition | null;

  constructor(first: Definition) {
    this.#first = first;
  }

  includes(entry: ToolEntry, digest: DigestPort): boolean {
    if (this.#first === entry.definition) return true;
    if (this.#first !== null) this.add(definitionDigest(digest, this.#first));
    this.#first = null;
    return this.#digests?.has(entry.digest) === true;
  }

  add(digest: string): void {
    this.#digests ??= new Set();
    this.#digests.add(digest);
  }
}

/** What all tools of a server share. */
export interface ToolContext {
  readonly isLive: () => boolean;
  /** Whether what would run has the approval it needs. */
  readonly isApproved: () => boolean;
  readonly digest: DigestPort;
}

/** One tool of the catalogue. Digests are taken and texts are made when somebody asks, unless they were before. */
export class ToolEntry implements ToolFacts {
  readonly server: ServerId;
  readonly tool: string;
  readonly fullName: string;
  readonly definition: Definition;
  readonly overLimit: boolean;
  readonly stale: boolean;
  readonly known: KnownDefinitions;
  readonly #context: ToolContext;
  #digest: string | undefined;
  #changed: boolean | undefined;

  constructor(facts: ToolFacts, known: KnownDefinitions, context: ToolContext) {
    this.server = facts.server;
    this.tool = facts.tool;
    this.fullName = facts.fullName;
    this.definition = facts.definition;
    this.overLimit = facts.overLimit;
    this.stale = facts.stale;
    this.known = known;
    this.#context = context;
  }

  /** For a model: cleaned and cut. */
  get description(): string {
    return this.#prepared().description;
  }

  /** As a search looks at it. */
  get ranked(): RankedTool {
    return this.#prepared().ranked;
  }

  /** Digest of the definition as the server sent it; a remembered grant and an approval are for this digest only. */
  get digest(): string {
    this.#digest ??= definitionDigest(this.#context.digest, this.definition);
    return this.#digest;
  }

  /** The definition is not one that was known before; nobody has agreed to it yet, so it has to be asked again. */
  get changed(): boolean {
    this.#changed ??= !this.known.includes(this, this.#context.digest);
    return this.#changed;
  }

  /** Within the limit of tools. A call of it may still have to wait for what its server waits for. */
  get callable(): boolean {
    return !this.overLimit;
  }

  /** Its server may not run as it is now before a person has approved it. */
  get unapproved(): boolean {
    return !this.#context.isApproved();
  }

  /** Not in the server's last listing, or the server is not running. */
  get cached(): boolean {
    return this.stale || !this.#context.isLive();
  }

  get inputSchema(): Definition {
    return (this.definition['inputSchema'] as Definition | undefined) ?? { type: 'object' };
  }

  /** A person agreed to this definition. */
  acceptDefinition(): void {
    this.known.add(this.digest);
    this.#changed = false;
  }

  listing(): ToolListing {
    const { fullName: name, server, tool, description, inputSchema, cached } = this;
    return { name, server, tool, description, inputSchema, callable: this.callable && !this.unapproved, cached };
  }

  #prepared(): PreparedTool {
    const { server, tool: key, definition, fullName: name } = this;
    return prepareTool(server, { key, definition }, this.#context.digest, name);
  }
}
