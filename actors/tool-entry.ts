import type { ListedItem } from '../machines/list-walk.js';
import type { ServerId } from '../machines/vocabulary.js';
import type { ToolListing } from './api.js';

type Definition = ListedItem['definition'];

export interface ToolFacts {
  readonly server: ServerId;
  /** What the server calls it. */
  readonly tool: string;
  readonly fullName: string;
  readonly definition: Definition;
  /** For a model: cleaned and cut. */
  readonly description: string;
  /** Past the limit of tools: searchable, not callable. */
  readonly overLimit: boolean;
  /** Not seen by the last walk, seen by the last complete one. */
  readonly stale: boolean;
}

/**
 * What is no change when a tool is listed again: its first definition, and those a person agreed to. Shared by all listings of a
 * tool; nothing is digested before somebody asks.
 */
export class KnownDefinitions {
  readonly #digests = new Set<string>();
  #first: Definition | null;

  constructor(first: Definition) {
    this.#first = first;
  }

  includes(entry: ToolEntry, digestOf: (definition: Definition) => string): boolean {
    if (this.#first === entry.definition) return true;
    if (this.#first !== null) this.#digests.add(digestOf(this.#first));
    this.#first = null;
    return this.#digests.has(entry.digest);
  }

  add(digest: string): void {
    this.#digests.add(digest);
  }
}

export interface ToolContext {
  readonly isLive: () => boolean;
  readonly digestOf: (definition: Definition) => string;
  readonly known: KnownDefinitions;
}

/** One tool of the catalogue. Digests are taken when somebody asks: most tools are never called. */
export class ToolEntry implements ToolFacts {
  readonly server: ServerId;
  readonly tool: string;
  readonly fullName: string;
  readonly definition: Definition;
  readonly description: string;
  readonly overLimit: boolean;
  readonly stale: boolean;
  readonly #context: ToolContext;
  #digest: string | undefined;
  #changed: boolean | undefined;

  constructor(facts: ToolFacts, context: ToolContext) {
    this.server = facts.server;
    this.tool = facts.tool;
    this.fullName = facts.fullName;
    this.definition = facts.definition;
    this.description = facts.description;
    this.overLimit = facts.overLimit;
    this.stale = facts.stale;
    this.#context = context;
  }

  /** Digest of the definition as the server sent it; a remembered grant and an approval are for this digest only. */
  get digest(): string {
    this.#digest ??= this.#context.digestOf(this.definition);
    return this.#digest;
  }

  /** The definition is not one that was known before; nobody has agreed to it yet, so it has to be asked again. */
  get changed(): boolean {
    this.#changed ??= !this.#context.known.includes(this, this.#context.digestOf);
    return this.#changed;
  }

  get known(): KnownDefinitions {
    return this.#context.known;
  }

  get callable(): boolean {
    return !this.overLimit;
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
    this.#context.known.add(this.digest);
    this.#changed = false;
  }

  listing(): ToolListing {
    const { fullName: name, server, tool, description, inputSchema, callable, cached } = this;
    return { name, server, tool, description, inputSchema, callable, cached };
  }
}
