import type { SupervisorOptions } from '../../actors/api.js';
import type { LayerName } from '../../machines/vocabulary.js';
import { Random } from './random.js';
import type { Entry } from './simulated-config.js';
import { plainShelf, type Shelf, TOOLS } from './simulated-server.js';
import type { Bounds } from './watched-links.js';

/**
 * What a schedule spends its events on. `rough`: everything happens to everything. `busy`: what a host does all day, calls to
 * servers that run, many at once, while the rest of the world goes on more slowly.
 */
export type Pace = 'rough' | 'busy';

/** What a schedule starts from; all of it follows from the seed. */
export interface Setup {
  readonly seed: number;
  /** `link`: servers behind the `Link` port. `process`: the product's own stdio links on simulated processes. */
  readonly world: 'link' | 'process';
  readonly roots: readonly string[];
  readonly userEntries: readonly Entry[];
  /** What the host brings along in code, the same in every workspace. */
  readonly pluginEntries: readonly Entry[];
  /** By root. */
  readonly workspaceEntries: ReadonlyMap<string, readonly Entry[]>;
  readonly overrideEntries: ReadonlyMap<string, readonly Entry[]>;
  /** By server id. */
  readonly shelves: ReadonlyMap<string, Shelf>;
  readonly pace: Pace;
  /** Share of what happens that goes wrong. */
  readonly harshness: number;
  readonly hasChannel: boolean;
  /** The host has roles of its own, which tighten. */
  readonly hasRoles: boolean;
  readonly trusted: boolean | undefined;
  readonly bounds: Bounds;
  readonly options: Pick<SupervisorOptions, 'discover' | 'approvalTimeoutMs' | 'hardDeadlineMs' | 'seed'>;
}

const IDS = ['a', 'b', 'c', 'd', 'e'];

/** A share of all schedules runs on simulated processes. */
const PROCESS_SHARE = 0.1;

/** A share of all schedules is mostly calls. */
const BUSY_SHARE = 0.8;
const PACE_SALT = 0x2545f491;
/** A share of all hosts brings servers of its own. */
const PLUGIN_SHARE = 0.2;
const PLUGIN_SALT = 0x27d4eb2f;
/** The layer of those. */
export const PLUGIN = 'kit';

export function setupOf(seed: number): Setup {
  const random = new Random(seed);
  const roots = random.chance(0.3) ? ['/one', '/two'] : ['/one'];
  const world = random.chance(PROCESS_SHARE) ? 'process' : 'link';
  const entries = (layer: LayerName, most: number): readonly Entry[] =>
    IDS.filter(() => random.chance(0.5))
      .slice(0, most)
      .map((id) => entryOf(id, layer, random, world === 'process'));
  const user = entries('user', 4);
  const hardDeadlineMs = random.pick([45_000, 100_000]);
  return {
    seed,
    world,
    pace: new Random(seed ^ PACE_SALT).chance(BUSY_SHARE) ? 'busy' : 'rough',
    roots,
    userEntries: user.length === 0 ? [entryOf('a', 'user', random, world === 'process')] : user,
    pluginEntries: pluginsOf(new Random(seed ^ PLUGIN_SALT), world === 'process'),
    workspaceEntries: new Map(roots.map((root) => [root, entries('workspace', 2)])),
    overrideEntries: new Map(roots.map((root) => [root, random.chance(0.3) ? entries('workspace-override', 1) : []])),
    shelves: new Map(IDS.map((id) => [id, shelfOf(random)])),
    harshness: random.pick([0.02, 0.05, 0.1, 0.2, 0.4]),
    hasChannel: random.chance(0.8),
    hasRoles: random.chance(0.15),
    trusted: random.pick([true, true, true, false, undefined]),
    bounds: {
      pages: random.pick([3, 5]),
      items: random.pick([6, 12]),
      intensity: random.pick([1, 2, 5]),
      windowMs: 120_000,
      halfOpenMs: 60_000,
      floorMs: 50,
      capMs: random.pick([2_000, 30_000]),
      stableMs: 60_000,
      slots: random.pick([1, 2, 3, 16, 16]),
      hardDeadlineMs,
    },
    options: { discover: random.chance(0.5), approvalTimeoutMs: random.pick([20_000, 300_000]), hardDeadlineMs, seed },
  };
}

function pluginsOf(random: Random, isProcess: boolean): readonly Entry[] {
  if (!random.chance(PLUGIN_SHARE)) return [];
  return [random.pick(IDS)].map((id) => entryOf(id, `plugin:${PLUGIN}`, random, isProcess));
}

export function entryOf(id: string, layer: LayerName, random: Random, isProcess: boolean): Entry {
  const transport = !isProcess && random.chance(0.3) ? 'http' : 'stdio';
  return {
    id,
    layer,
    transport,
    isRemote: transport === 'http' && random.chance(0.7),
    version: 1,
    lifecycle: random.pick(['lazy', 'lazy', 'lazy', 'eager', 'keep-alive']),
    idleTimeoutMs: random.pick([3_000, 20_000, 600_000]),
    timeoutMs: random.pick([2_000, 30_000]),
    initTimeoutMs: random.pick([4_000, 60_000]),
    isRefused: random.chance(0.05),
    isTightened: false,
  };
}

function shelfOf(random: Random): Shelf {
  if (random.chance(0.6)) return plainShelf;
  const count = random.pick([2, 3, 4, 7]);
  const more = Array.from({ length: count - 1 }, (_, page) => [
    `extra-${page + 1}`,
    random.chance(0.3) ? 'free' : `extra-${page}`,
  ]);
  return {
    pages: [TOOLS, ...more],
    end: random.pick(['stops', 'stops', 'loops', 'never']),
    hasEmptyCursor: random.chance(0.3),
    edition: 1,
  };
}
