import { type CandidateKey, candidateKey, isWorkspaceLayer } from '../machines/vocabulary.js';
import { toFailure } from './errors.js';
import type { CredentialOrigin, DbPort, DigestPort, LogPort, ServerDefinition } from './ports.js';

export interface CredentialGuardDeps {
  readonly db: DbPort;
  readonly digest: DigestPort;
  readonly log: LogPort;
  /** Real path of the workspace: the same id in two workspaces has two sets of credentials. */
  readonly root: string;
  readonly onChange: () => void;
}

interface Given {
  readonly header: string;
  readonly origin: CredentialOrigin;
}

interface Dropped {
  readonly configHash: string;
  readonly warnings: readonly string[];
}

/**
 * Credentials stay with the URL they were given for (B163, B166). The first time a header with a credential is about to be
 * sent, its value is remembered with the endpoint, as keyed digests. The same value for another endpoint is not sent: the
 * server runs without it, and its status warns. A new value counts as given together with the URL it stands beside; so does
 * the old one after the server was started once without it. A look at what would run, for a question, remembers nothing. What cannot be looked up or written down is not sent either.
 */
export class CredentialGuard {
  readonly #deps: CredentialGuardDeps;
  readonly #dropped = new Map<CandidateKey, Dropped>();

  constructor(deps: CredentialGuardDeps) {
    this.#deps = deps;
  }

  /** The definition with those of its headers that may go to its URL. `isStart`: they are about to. Never rejects. */
  async reduce(definition: ServerDefinition, isStart: boolean): Promise<ServerDefinition> {
    const { id, layer, url, configHash, credentialHeaders } = definition;
    if (url === undefined) return definition;
    const key = candidateKey(layer, id);
    const strays = await this.#straysOf(definition, url, isStart).catch((error: unknown) => {
      const { code, message } = toFailure(error, 'STORE_FAILED');
      this.#deps.log.write({ level: 'error', event: 'store.failed', server: id, code, message });
      return credentialHeaders.map((header) => ({ header, warning: unknownOrigin(header) }));
    });
    if (strays.length === 0) {
      this.forget(key);
      return definition;
    }
    this.#dropped.set(key, { configHash, warnings: strays.map(({ warning }) => warning) });
    this.#deps.onChange();
    const names = new Set(strays.map(({ header }) => header));
    return {
      ...definition,
      headers: Object.fromEntries(Object.entries(definition.headers).filter(([name]) => !names.has(name))),
      credentialHeaders: credentialHeaders.filter((name) => !names.has(name)),
    };
  }

  /** What the status of a server says of headers that are not sent. */
  warningsOf(key: CandidateKey, configHash: string): readonly string[] {
    const dropped = this.#dropped.get(key);
    return dropped?.configHash === configHash ? dropped.warnings : [];
  }

  forget(key: CandidateKey): void {
    if (this.#dropped.delete(key)) this.#deps.onChange();
  }

  async #straysOf(
    definition: ServerDefinition,
    url: string,
    isStart: boolean,
  ): Promise<readonly { header: string; warning: string }[]> {
    const { db, digest } = this.#deps;
    const owner = this.#ownerOf(definition);
    const [salt, remembered] = await Promise.all([db.salt(), db.credentials(owner)]);
    const endpoint = digest.ofJson([salt, 'endpoint', canonicalEndpoint(url)]);
    const given = definition.credentialHeaders.map((header): Given => {
      const value = digest.ofJson([salt, 'credential', definition.headers[header] ?? '']);
      return { header, origin: { value, endpoint } };
    });
    const strays = given.filter(({ origin }) => isStray(origin, remembered));
    const next = new Map(
      given.map((one) => [one.header.toLowerCase(), strays.includes(one) ? oldOrigin(one.origin, remembered) : one.origin]),
    );
    if (isStart && !isSame(next, remembered)) await db.saveCredentials(owner, next);
    return strays.map(({ header }) => ({ header, warning: givenElsewhere(header, definition.id) }));
  }

  #ownerOf({ layer, id }: ServerDefinition): string {
    const key = candidateKey(layer, id);
    return isWorkspaceLayer(layer) ? `${key}#${this.#deps.root}` : key;
  }
}

type Origins = ReadonlyMap<string, CredentialOrigin>;

/** Under whichever name: a header that is renamed carries the same credential. */
function isStray({ value, endpoint }: CredentialOrigin, remembered: Origins): boolean {
  const known = [...remembered.values()].filter((origin) => origin.value === value);
  return known.length > 0 && known.every((origin) => origin.endpoint !== endpoint);
}

const oldOrigin = (origin: CredentialOrigin, remembered: Origins): CredentialOrigin =>
  [...remembered.values()].find(({ value }) => value === origin.value) ?? origin;

const isSame = (one: Origins, other: Origins): boolean =>
  one.size === other.size &&
  [...one].every(([name, { value, endpoint }]) => {
    const known = other.get(name);
    return known?.value === value && known.endpoint === endpoint;
  });

/** Host case and default port as the parser writes them, fragment dropped, path and query exact. */
export function canonicalEndpoint(text: string): string {
  const url = new URL(text);
  url.hash = '';
  return url.href;
}

const givenElsewhere = (header: string, id: string): string =>
  `the header "${header}" was given for another URL and is not sent; give it a new value, or take it out, run ` +
  `\`mcp-supervisor test ${id}\`, and put it back`;

const unknownOrigin = (header: string): string =>
  `the header "${header}" is not sent, as the record of which URL it was given for cannot be read or written`;
