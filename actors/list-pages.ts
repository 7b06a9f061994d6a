import { closePage, type ItemVerdict, type OpenPage, openPage, verifyItem } from '../machines/items.js';
import type { ListPage, PageRequest } from '../machines/pagination-machine.js';
import { failure, type ListKind, type ServerId } from '../machines/vocabulary.js';
import { SupervisorError } from './errors.js';
import type { ClockPort, DigestPort, Link } from './ports.js';
import { prepareTool } from './tool-entry.js';

const METHODS: Readonly<Record<ListKind, string>> = {
  tools: 'tools/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
  prompts: 'prompts/list',
};

/** Entries verified in one turn of the event loop at most. */
const SLICE_ENTRIES = 200;
/** A turn ends sooner when its entries are costly; one by itself is bounded by what an item may hold. */
const SLICE_MS = 5;

/** What the entries of a list are verified with. */
export interface VerifyDeps {
  readonly clock: Pick<ClockPort, 'now' | 'setTimeout'>;
  readonly digest: DigestPort;
}

/**
 * Reads one page of one list and verifies its items, in slices with a turn of the event loop after each. Not a call: it neither
 * keeps a server busy nor takes a call's place.
 */
export async function fetchPage(
  link: Link,
  { kind, cursor, source }: PageRequest,
  signal: AbortSignal,
  deps: VerifyDeps,
): Promise<ListPage> {
  const method = METHODS[kind];
  const result = await requestOnce(link, method, cursor === undefined ? undefined : { cursor }, signal);
  const opened = openPage(kind, result);
  if (!opened.ok) throw new SupervisorError(opened.failure);
  const server = source.key.slice(source.key.indexOf('/') + 1);
  const verdicts = await verifyInSlices(server, opened.page, deps, () => signal.aborted);
  if (verdicts === null) throw givenUp(method);
  const closed = closePage(opened.page, verdicts);
  if (!closed.ok) throw new SupervisorError(closed.failure);
  const ttlMs = ttlIn(result);
  return ttlMs === undefined ? closed.page : { ...closed.page, ttlMs };
}

/**
 * Verifies the entries of a page, a slice at a time with a turn of the event loop between two, and prepares them for the
 * catalogue while there is time. One verdict an entry, in their order; null when `isOff` said so in between.
 */
export async function verifyInSlices(
  server: ServerId,
  page: OpenPage,
  deps: VerifyDeps,
  isOff: () => boolean = () => false,
): Promise<readonly ItemVerdict[] | null> {
  const verdicts: ItemVerdict[] = [];
  while (!verifySlice(server, page, verdicts, deps)) {
    await new Promise<void>((resolve) => void deps.clock.setTimeout(resolve, 0));
    if (isOff()) return null;
  }
  return verdicts;
}

/** Goes on behind the last verdict; true when no entry is left and the slice was not used up. */
function verifySlice(
  server: ServerId,
  { kind, entries }: OpenPage,
  verdicts: ItemVerdict[],
  { clock, digest }: VerifyDeps,
): boolean {
  const start = verdicts.length;
  const endMs = clock.now() + SLICE_MS;
  for (const raw of entries.slice(start, start + SLICE_ENTRIES)) {
    const verdict = verifyItem(kind, raw, verdicts.length + 1);
    // The catalogue names, shows and searches them, all of them at once.
    if (verdict.ok && kind === 'tools') prepareTool(server, verdict, digest);
    verdicts.push(verdict);
    if (clock.now() >= endMs) return false;
  }
  return verdicts.length - start < SLICE_ENTRIES;
}

/** How long a server calls its answer fresh; what is no number of milliseconds says nothing. */
function ttlIn(result: unknown): number | undefined {
  const ttlMs: unknown = (result as { readonly ttlMs?: unknown }).ttlMs;
  return typeof ttlMs === 'number' && !Number.isNaN(ttlMs) ? ttlMs : undefined;
}

/** One request whose end is its answer or its abort signal; when the link is lost its actor is stopped, which aborts it. */
function requestOnce(link: Link, method: string, params: object | undefined, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let isSettled = false;
    const requestId = link.request(method, params, {
      result: (value) => {
        isSettled = true;
        resolve(value);
      },
      failed: (problem, cause) => {
        isSettled = true;
        reject(new SupervisorError(problem, cause === undefined ? undefined : { cause }));
      },
      progress: () => undefined,
    });
    const abort = (): void => {
      if (isSettled) return;
      isSettled = true;
      link.forget(requestId, () => undefined);
      link.unwatch(requestId);
      // Best effort: a server that cannot be told may as well send its answer.
      link.notifyCancelled(requestId, 'the list is no longer needed').catch(() => undefined);
      reject(givenUp(method));
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

const givenUp = (method: string): SupervisorError => new SupervisorError(failure('LIST_FAILED', `${method} was given up`));
