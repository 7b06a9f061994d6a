import { candidateKey, type ListKind } from '../../machines/vocabulary.js';
import { ghost } from './ghosts.js';
import type { Room, SimulatedHost } from './host.js';
import { GOOD_LUCK } from './in-flight.js';
import { Random } from './random.js';
import { entryOf } from './setup.js';
import type { Entry, File } from './simulated-config.js';

/** One thing that happens. Its two numbers choose among what there is to choose from, so it fits any state of the world. */
export interface Choice {
  readonly act: ActName;
  readonly x: number;
  readonly y: number;
}

export const NUMBERS_BELOW = 65_536;

/** What was done, for the trace; null when there was nothing to do it to. */
type Act = (host: SimulatedHost, x: number, y: number) => string | null;

const roomOf = ({ rooms }: SimulatedHost, y: number): Room => rooms[y % rooms.length] as Room;
const HORIZONS_MS = [5, 60, 60, 500, 2_000, 6_000, 60_000, 700_000];
const KINDS: readonly ListKind[] = ['tools', 'tools', 'resources', 'prompts', 'resourceTemplates'];

/** Luck for what is delivered: in a helpful world all is well, else a share goes wrong. */
function luckOf({ world }: SimulatedHost, y: number): number {
  const { harshness } = world.setup;
  const share = y / NUMBERS_BELOW;
  return world.isHelpful || share >= harshness ? GOOD_LUCK : Math.max(0.001, share / harshness);
}

const serverOf = (host: SimulatedHost, x: number, y: number) => {
  const { handle, runtime } = roomOf(host, y);
  const candidates = runtime?.context.candidates ?? [];
  const id = candidates[x % Math.max(1, candidates.length)]?.id;
  if (handle === null || runtime === null || id === undefined) return null;
  const layer = runtime.candidateFor(id)?.layer ?? 'user';
  return { handle, id, layer, server: handle.server(id) };
};

const onServer =
  (what: string, work: (host: SimulatedHost, of: NonNullable<ReturnType<typeof serverOf>>, y: number) => unknown): Act =>
  (host, x, y) => {
    const found = serverOf(host, x, y);
    if (found === null) return null;
    return host.attempt(`${found.handle.root} ${found.id} ${what}`, () => work(host, found, y));
  };

/** What is done to a peer; `false` when it had nothing to do it with. */
const onLink =
  (what: string, work: (link: SimulatedHost['world']['links'][number], y: number) => unknown): Act =>
  ({ world }, x, y) => {
    const alive = world.links.slice(-24).filter(({ isOver }) => !isOver);
    const link = alive[x % Math.max(1, alive.length)];
    if (link === undefined || work(link, y) === false) return null;
    return `${link.name} ${what}`;
  };

const acts = {
  deliver: (host, x, y) => {
    const { inFlight } = host.world;
    // The older, the likelier; but everything may overtake everything.
    const index = Math.floor((x / NUMBERS_BELOW) ** 2 * inFlight.size);
    return inFlight.deliver(index, luckOf(host, y));
  },
  tick: ({ world: { clock } }, x) => {
    const untilMs = clock.now() + (HORIZONS_MS[x % HORIZONS_MS.length] ?? 0);
    if (clock.fireNext(untilMs)) return 'a timer fires';
    clock.advance(untilMs - clock.now());
    return 'time passes';
  },
  call: (host, x, y) => host.call(roomOf(host, x >> 8), x, y),
  use: (host, x, y) => host.use(roomOf(host, x >> 8), x, y),
  progress: onLink('makes progress', (link, y) => link.progress(y)),
  repeat: onLink('repeats its last answer', (link) => link.repeat()),
  abort: ({ world }, x) => {
    const open = [...world.ledger.open].filter(({ abort }) => abort?.signal.aborted === false);
    const call = open[x % Math.max(1, open.length)];
    if (call === undefined) return null;
    call.abort?.abort();
    return `call ${call.n} is withdrawn`;
  },
  endSession: (host, x, y) => {
    const { handle } = roomOf(host, y);
    const session = `s${(x % 3) + 1}`;
    handle?.endSession(session);
    return handle === null ? null : `${session} ends`;
  },
  answer: ({ world: { approvals } }, x, y) => approvals.answer(x % Math.max(1, approvals.open), y / NUMBERS_BELOW),
  answerByNonce: (host, x, y) => host.answerByNonce(roomOf(host, y), x, y % 3 !== 0),
  gateway: (host, x, y) => host.run(roomOf(host, x), x, y),
  die: onLink('dies', (link, y) => {
    if (y % 5 === 0) link.die('CONNECT_FAILED', false);
    else if (y % 23 === 0) link.die('TLS_FAILED', true);
    else link.die('LINK_LOST', true);
  }),
  announce: onLink('announces', (link, y) => {
    // Now and then a storm.
    for (let times = y % 9 === 0 ? 20 : 1; times > 0; times -= 1) link.announce(KINDS[y % KINDS.length] ?? 'tools');
  }),
  stderr: onLink('writes to stderr', (link) => link.stderr()),
  endStreams: onLink('ends its streams', (link) => link.endStreams()),
  ghost: (host, x, y) => ghost(host, x, y),
  restart: onServer('is restarted', ({ world }, { handle, id, server }) => {
    world.ledger.pardon(handle.root, id);
    server.restart();
  }),
  test: onServer('is tested', ({ world }, { handle, id, server }, y) => {
    world.ledger.pardon(handle.root, id);
    return server.test({ force: y % 2 === 0 });
  }),
  enable: onServer('is enabled', ({ world }, { handle, id, server }) => {
    world.ledger.pardon(handle.root, id);
    const { off } = world.ledger.decisions;
    // A switch of the user's own layer is one for all workspaces.
    for (const where of [...off]) if (where.endsWith(`/${id}`)) off.delete(where);
    return server.enable();
  }),
  disable: onServer('is disabled', ({ world }, { handle, id, layer, server }) => {
    world.ledger.pardon(handle.root, id);
    world.ledger.decisions.off.add(`${handle.root} ${candidateKey(layer, id)}`);
    return server.disable();
  }),
  remove: onServer('is removed', ({ world }, { handle, id, server }) => {
    world.ledger.pardon(handle.root, id);
    return server.remove();
  }),
  look: onServer('is looked at', (_host, { server, handle }) => {
    server.explain('free');
    return handle.tools();
  }),
  trust: (host, _x, y) => {
    const { root, handle } = roomOf(host, y);
    if (handle === null) return null;
    const trusted = y % 4 !== 0;
    host.world.ledger.decisions.trusted.set(root, trusted);
    host.world.ledger.pardon(root);
    return host.attempt(`${root} is ${trusted ? '' : 'not '}trusted`, () => handle.setTrusted(trusted));
  },
  remote: (host, x) => {
    const on = x % 3 !== 0;
    host.world.ledger.decisions.remote = on;
    for (const { root } of host.rooms) host.world.ledger.pardon(root);
    return host.attempt(`remote servers are ${on ? 'on' : 'off'}`, () => host.supervisor.setRemote(on));
  },
  edit: (host, x, y) => edit(host, roomOf(host, x >> 4), x, y),
  contents: (host, x, y) => {
    const { world } = host;
    const { root } = roomOf(host, y);
    const entries = [...world.config.file('workspace', root).entries, ...world.config.file('workspace-override', root).entries];
    const entry = entries[x % Math.max(1, entries.length)];
    if (entry === undefined) return null;
    const where = `${root} ${candidateKey(entry.layer, entry.id)}`;
    world.contents.set(where, ((world.contents.get(where) ?? 1) % 3) + 1);
    return `${where} has other contents`;
  },
  edition: ({ world }, x) => {
    const id = 'abcde'[x % 5] ?? 'a';
    world.editions.set(id, (world.editions.get(id) ?? 1) + 1);
    return `${id} has another edition`;
  },
  reload: (host, _x, y) => {
    const { root, handle } = roomOf(host, y);
    return handle === null ? null : host.attempt(`${root} is reloaded`, () => handle.reload());
  },
  connectAll: (host, _x, y) => {
    const { root, handle } = roomOf(host, y);
    if (handle === null) return null;
    host.world.ledger.pardon(root);
    return host.attempt(`${root} connects all`, () => handle.connectAll());
  },
  elsewhere: (host, x, y) => {
    const { root } = roomOf(host, y);
    const { ledger, db } = host.world;
    ledger.pardon(root);
    if (x % 2 === 0) {
      if (roomOf(host, y).trusted === undefined) ledger.decisions.trusted.delete(root);
      void db.elsewhere((port) => port.setTrusted(root, y % 3 !== 0));
      return `${root} is trusted or not by another process`;
    }
    const id = 'abcde'[x % 5] ?? 'a';
    for (const { root: each } of host.rooms) ledger.decisions.off.delete(`${each} user/${id}`);
    void db.elsewhere((port) => port.setSwitch(`mcp.disabled.user.${id}`, y % 3 !== 0));
    return `${id} is switched by another process`;
  },
  disk: ({ world }, x) => {
    world.fillDisk(!world.isHelpful && x % 4 === 0);
    return `the disk is ${x % 4 === 0 ? 'full' : 'not full'}`;
  },
  jump: ({ world }, x) => {
    world.clock.jump((x - NUMBERS_BELOW / 2) * 60_000);
    return 'the wall clock jumps';
  },
  open: (host, _x, y) => {
    const room = roomOf(host, y);
    return room.handle !== null && (y % 7 !== 0 || room.others.length > 2) ? null : host.open(room);
  },
  close: (host, _x, y) => host.close(roomOf(host, y)),
} as const satisfies Record<string, Act>;

export type ActName = keyof typeof acts;

export const actNames = Object.keys(acts) as readonly ActName[];
/** Does it; returns what was done, or null when there was nothing to do it to. */
export const perform = (host: SimulatedHost, { act, x, y }: Choice): string | null => acts[act](host, x, y);

/** Somebody saves a file: another version, another life, an entry more or less, a fault, or the end of one. */
function edit({ world }: SimulatedHost, { root }: Room, x: number, y: number): string {
  const name = (['user', 'user', 'workspace', 'workspace-override'] as const)[x % 4] as File;
  const file = world.config.file(name, root);
  const at = y % Math.max(1, file.entries.length);
  const change = (over: (entry: Entry) => Partial<Entry>): void => {
    file.entries = file.entries.map((entry, index) => (index === at ? { ...entry, ...over(entry) } : entry));
  };
  const kind = (x >> 2) % 10;
  file.isBroken = kind === 0 && !world.isHelpful;
  const random = new Random(y);
  if (kind === 1) change(({ version }) => ({ version: (version % 3) + 1 }));
  else if (kind === 2) change(() => ({ lifecycle: random.pick(['lazy', 'eager', 'keep-alive']) }));
  else if (kind === 3) change(() => ({ idleTimeoutMs: random.pick([3_000, 20_000, 600_000]) }));
  else if (kind === 4) change(({ isTightened }) => ({ isTightened: !isTightened }));
  else if (kind === 5) change(({ isRefused }) => ({ isRefused: !isRefused }));
  else if (kind === 6) file.entries = file.entries.filter((_entry, index) => index !== at);
  else if (kind >= 7) {
    const id = random.pick(['a', 'b', 'c', 'd', 'e']);
    const isKnown = file.entries.some((entry) => entry.id === id);
    if (!isKnown && file.entries.length < 5) {
      file.entries = [...file.entries, entryOf(id, name, random, world.setup.world === 'process')];
    }
  }
  world.config.changed(name, root);
  return `the ${name} file of ${root} is saved (${kind})`;
}
