import type { Link, LinkEvents, LinkPort, Reply } from '../../actors/ports.js';
import { defaultListLimits, type ListLimits } from '../../machines/list-walk.js';
import { defaultRestartPolicy } from '../../machines/restart-policy.js';
import { isWorkspaceLayer, type ListKind } from '../../machines/vocabulary.js';
import type { Checks } from './checks.js';
import { Connection, type LaunchFacts, type SeenWalk } from './connection.js';
import type { Ledger, LedgerCall } from './ledger.js';

/** What a schedule keeps fixed, and the account judges by. */
export interface Bounds {
  readonly pages: number;
  readonly items: number;
  readonly intensity: number;
  readonly windowMs: number;
  readonly halfOpenMs: number;
  readonly floorMs: number;
  readonly capMs: number;
  readonly stableMs: number;
  readonly slots: number;
  readonly hardDeadlineMs: number;
}

export interface Watch {
  readonly ledger: Ledger;
  readonly checks: Checks;
  readonly bounds: Bounds;
  /** Whether a call may go out without anybody's yes, as far as the world knows. */
  readonly isFree: (call: LedgerCall, connection: Connection) => boolean;
  /** Whether nobody's yes lets it pass. */
  readonly isDenied: (call: LedgerCall, connection: Connection) => boolean;
}

/** Any link port, with everything that passes through it entered in the ledger and judged. */
export function watchLinks(inner: LinkPort, watch: Watch): LinkPort {
  return {
    open: (launch, events, options) => {
      const { ledger } = watch;
      const facts = ledger.launches.get(launch);
      if (facts === undefined) throw new Error('bug: what is started was never looked at');
      judgeOpening(watch, facts);
      const connection = new Connection(ledger.nextConnection(), facts, events, ledger.clock.now());
      const link = inner.open(launch, watchedEvents(watch, connection), options);
      ledger.connections.push(connection);
      return new WatchedLink(watch, connection, link);
    },
  };
}

function judgeOpening({ ledger, checks, bounds }: Watch, facts: LaunchFacts): void {
  const { root, key, layer, fingerprint, isRemote } = facts;
  const { decisions, clock } = ledger;
  checks.holds('one-generation', ledger.live(root, key) === undefined, () => `${root} ${key} is opened twice`);
  const { leased } = ledger;
  checks.holds(
    'live-cap',
    ledger.connections.length < leased(),
    () => `${ledger.connections.length + 1} open with ${leased()} slots`,
  );
  const isOurs = isWorkspaceLayer(layer);
  const shut = [
    isOurs && (fingerprint === null || !decisions.approved.has(fingerprint)) ? `"${String(fingerprint)}" was not approved` : '',
    isOurs && decisions.trusted.get(root) === false ? 'its workspace is not trusted' : '',
    decisions.off.has(`${root} ${key}`) ? 'it is switched off' : '',
    isRemote && decisions.remote === false ? 'remote servers are off' : '',
  ].filter((why) => why !== '');
  checks.holds('gates-hold', shut.length === 0, () => `${root} ${key} is started although ${shut.join(', ')}`);
  const deaths = (ledger.deaths.get(`${root} ${key}`) ?? []).filter((atMs) => clock.now() - atMs < bounds.windowMs);
  const intensity = ledger.onDefaults.has(root) ? Math.max(bounds.intensity, defaultRestartPolicy.intensity) : bounds.intensity;
  const lastMs = deaths.at(-1) ?? Number.NEGATIVE_INFINITY;
  checks.holds(
    'restart-intensity',
    deaths.length <= intensity || clock.now() - lastMs >= bounds.halfOpenMs,
    () => `${root} ${key} is started after ${deaths.length} deaths in ${bounds.windowMs} ms`,
  );
}

function watchedEvents({ ledger }: Watch, connection: Connection): LinkEvents {
  const { events } = connection;
  return {
    opened: (info) => events.opened(info),
    lost: (problem, death) => {
      if (connection.isUsable && death) ledger.died(connection);
      connection.isLost = true;
      events.lost(problem, death);
    },
    listChanged: (kind) => events.listChanged(kind),
    stderr: () => events.stderr(),
  };
}

class WatchedLink implements Link {
  readonly #watch: Watch;
  readonly #connection: Connection;
  readonly #link: Link;

  constructor(watch: Watch, connection: Connection, link: Link) {
    this.#watch = watch;
    this.#connection = connection;
    this.#link = link;
  }

  async handshake(): ReturnType<Link['handshake']> {
    const connection = this.#connection;
    try {
      const handshake = await this.#link.handshake();
      connection.hasShaken = true;
      return handshake;
    } catch (error) {
      if (connection.isUsable) {
        this.#watch.ledger.died(connection);
        connection.isLost = true;
      }
      throw error;
    }
  }

  request(method: string, params: object | undefined, reply: Reply): string {
    const connection = this.#connection;
    const watched = method === 'tools/call' ? this.#called(params, reply) : this.#asked(method, params, reply);
    connection.replies.push(watched);
    if (connection.replies.length > 8) connection.replies.shift();
    const id = this.#link.request(method, params, watched);
    connection.requests.add(id);
    return id;
  }

  forget(requestId: string, late: (answer: 'result' | 'error') => void): void {
    this.#link.forget(requestId, late);
  }

  unwatch(requestId: string): void {
    this.#link.unwatch(requestId);
  }

  notifyCancelled(requestId: string, reason: string): Promise<void> {
    const { checks } = this.#watch;
    const { requests, cancelled, name } = this.#connection;
    checks.holds('cancel-not-initialize', requests.has(requestId), () => `${name}: "${requestId}" was never asked`);
    checks.holds('cancel-once', !cancelled.has(requestId), () => `${name}: "${requestId}" is cancelled twice`);
    cancelled.add(requestId);
    return this.#link.notifyCancelled(requestId, reason);
  }

  listen(): Promise<void> {
    return this.#link.listen();
  }

  probe(): Promise<void> {
    return this.#link.probe();
  }

  async close(): ReturnType<Link['close']> {
    const connection = this.#connection;
    connection.isClosing = true;
    try {
      return await this.#link.close();
    } finally {
      if (!connection.isClosed) this.#watch.ledger.left(connection);
    }
  }

  diagnosis(): ReturnType<Link['diagnosis']> {
    return this.#link.diagnosis();
  }

  #called(params: object | undefined, reply: Reply): Reply {
    const { ledger, checks, isDenied, isFree } = this.#watch;
    const connection = this.#connection;
    const { name, arguments: args } = params as { readonly name: string; readonly arguments: { readonly n?: number } };
    if (args.n === undefined) {
      connection.hasOthers = true;
      return reply;
    }
    const call = ledger.calls.get(args.n);
    checks.holds('own-reply', call !== undefined, () => `${connection.name} is sent a call that nobody made`);
    if (call === undefined) return reply;
    const { root, id } = connection.facts;
    checks.holds(
      'sent-once',
      call.connection === null && call.outcome === null && call.root === root && call.server === id && call.tool === name,
      () => `call ${call.n} of ${call.root} to ${call.server}.${call.tool} is sent to ${connection.name} as ${name}`,
    );
    checks.holds('calls-admitted', !isDenied(call, connection), () => `call ${call.n} to ${call.tool} is sent, and denied`);
    checks.holds(
      'calls-admitted',
      call.isApproved || call.byPerson || isFree(call, connection),
      () => `call ${call.n} to ${call.tool} on ${connection.name} is sent, and was not approved`,
    );
    call.connection = connection;
    call.sentAtMs = ledger.clock.now();
    call.movedAtMs = call.sentAtMs;
    connection.openCalls.add(call.n);
    connection.usedAtMs = call.sentAtMs;
    return {
      result: (value) => reply.result(value),
      failed: (problem, cause) => reply.failed(problem, cause),
      progress: (report) => {
        call.movedAtMs = ledger.clock.now();
        reply.progress(report);
      },
    };
  }

  #asked(method: string, params: object | undefined, reply: Reply): Reply {
    if (!method.endsWith('/list')) return reply;
    const { checks, bounds, ledger } = this.#watch;
    const { walks, name, facts } = this.#connection;
    const { cursor } = (params ?? {}) as { readonly cursor?: string };
    const walk =
      cursor === undefined ? freshWalk(ledger.onDefaults.has(facts.root) ? defaultListLimits : bounds) : walks.get(method);
    if (walk === undefined) return reply;
    walks.set(method, walk);
    walk.pages += 1;
    checks.holds(
      'listing-bounds',
      walk.pages <= walk.limits.pages && (cursor === undefined || !walk.followed.has(cursor)),
      () => `${name}: page ${walk.pages} of ${method} is asked for, at ${String(cursor)}`,
    );
    if (cursor !== undefined) walk.followed.add(cursor);
    const kind = method.slice(0, method.indexOf('/')) as ListKind;
    return {
      ...reply,
      failed: (problem, cause) => reply.failed(problem, cause),
      progress: (report) => reply.progress(report),
      result: (value) => {
        for (const item of soundNames(value, kind)) if (walk.names.size < bounds.items) walk.names.add(item);
        reply.result(value);
      },
    };
  }
}

const freshWalk = ({ pages, items }: ListLimits): SeenWalk => ({
  pages: 0,
  followed: new Set<string>(),
  names: new Set<string>(),
  limits: { pages, items },
});

/** Names of the items of a page that nothing is wrong with; none of a page that is no page. */
function soundNames(value: unknown, kind: ListKind): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { [kind]: items, nextCursor } = value as { readonly [key: string]: unknown };
  if (!Array.isArray(items) || (nextCursor !== undefined && typeof nextCursor !== 'string')) return [];
  return items.flatMap((item: unknown) => {
    const { name, inputSchema } = (item ?? {}) as { readonly name?: unknown; readonly inputSchema?: unknown };
    return typeof name === 'string' && name !== '' && typeof inputSchema === 'object' ? [name] : [];
  });
}
