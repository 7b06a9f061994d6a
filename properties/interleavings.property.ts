import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Supervisor, Workspace } from '../actors/api.js';
import type { Ask, LinkPort, Ports } from '../actors/ports.js';
import { type Outcome, outcomeOf } from '../test/support/outcome.js';
import { layer, rejectedLayer, Simulation, server } from '../test/support/simulated-ports.js';

const KINDS = [
  'call',
  'call',
  'call',
  'call',
  'cancel',
  'endSession',
  'restart',
  'reload',
  'rewrite',
  'die',
  'wait',
  'open',
  'closeHandle',
] as const;
const operation = fc.record({
  kind: fc.constantFrom(...KINDS),
  id: fc.constantFrom('user', 'own'),
  session: fc.constantFrom('one', 'two'),
});
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

interface Made {
  readonly text: string;
  readonly session: string;
  readonly outcome: Outcome;
  readonly abort: AbortController;
  answer: unknown;
  /** Settled by its own withdrawal or the end of its session, and by nothing else. */
  isWithdrawn: boolean;
}

/** What a person said yes to, and what was opened without that. */
class Approvals {
  readonly granted = new Set<string>();
  readonly violations: string[] = [];
  /** What the last look at the workspace's own server found. */
  found: string | null = null;

  opened(id: string): void {
    if (id === 'own' && !this.granted.has(this.found ?? '')) this.violations.push(`${String(this.found)} was started`);
  }
}

/** Everything that the world does, it does when the scheduler says so: readings, looks at the disk, openings, answers, ends. */
function scheduled(sim: Simulation, scheduler: fc.Scheduler, approvals: Approvals): Partial<Ports> {
  const { config, vet, link } = sim.ports;
  const later = (what: string, act: () => void): void => void scheduler.schedule(Promise.resolve(), what).then(act);
  const open: LinkPort['open'] = (launch, events, options) => {
    link.open(launch, events, options);
    const inner = sim.link(launch.transport === 'stdio' ? launch.command : launch.url);
    approvals.opened(inner.server);
    later('opened', () => inner.open());
    return {
      handshake: () => {
        later('handshake', () => inner.shake());
        return inner.handshake();
      },
      request: (method, params, reply) => {
        const id = inner.request(method, params, reply);
        const { text } = (params as { readonly arguments?: { readonly text: string } } | undefined)?.arguments ?? {};
        const tools = [{ name: 'echo', inputSchema: { type: 'object' } }];
        later(method, () => inner.answer(id, method === 'tools/list' ? { tools } : { content: text }));
        return id;
      },
      close: () => {
        later('closed', () => inner.finishClose());
        return inner.close();
      },
      forget: (id, late) => inner.forget(id, late),
      unwatch: (id) => inner.unwatch(id),
      // Written, refused, or stuck in a pipe that nobody reads.
      notifyCancelled: async (id) => {
        await inner.notifyCancelled(id);
        if (inner.cancelled.length % 3 === 1) throw new Error('the pipe is closed');
        if (inner.cancelled.length % 3 === 2) await new Promise(() => undefined);
      },
      listen: () => inner.listen(),
      probe: () => inner.probe(),
      diagnosis: () => inner.diagnosis(),
    };
  };
  return {
    config: { ...config, read: (scope) => scheduler.schedule(config.read(scope), 'read') },
    vet: {
      vet: async (definition, scope) => {
        const vetted = await scheduler.schedule(vet.vet(definition, scope), 'vet');
        if (definition.id === 'own') approvals.found = vetted.fingerprint;
        return vetted;
      },
    },
    link: { open },
  };
}

/** One supervisor with its handles and the calls that were made through them. */
class Host {
  readonly made: Made[] = [];
  readonly handles: Workspace[] = [];
  readonly opened: Outcome[] = [];
  readonly #sim: Simulation;
  readonly #supervisor: Supervisor;
  #written = 0;

  constructor(sim: Simulation, supervisor: Supervisor) {
    this.#sim = sim;
    this.#supervisor = supervisor;
  }

  readonly #take: Readonly<Record<Operation['kind'], (operation: Operation) => unknown>> = {
    open: () => {
      const opening = this.#supervisor.openWorkspace('/repo', { trusted: true, enable: ['own'] });
      this.opened.push(outcomeOf(opening.then((workspace) => void this.handles.push(workspace))));
    },
    call: ({ id, session }) => this.#call(id, session),
    cancel: () => {
      const one = this.made.findLast(({ outcome }) => outcome.state === 'open');
      if (one === undefined) return;
      one.isWithdrawn = true;
      one.abort.abort();
    },
    endSession: ({ session }) => {
      for (const one of this.made) one.isWithdrawn ||= one.session === session && one.outcome.state === 'open';
      for (const handle of this.handles) handle.endSession(session);
    },
    restart: ({ id }) => this.#quietly((handle) => handle.server(id).restart()),
    reload: () => this.#quietly((handle) => handle.reload()),
    // Rewritten between the look at it and its start, it must not start.
    rewrite: () => {
      this.#written += 1;
      this.#sim.fingerprints.set('own', `written ${this.#written}`);
    },
    die: ({ id }) => this.#sim.openLinks.findLast((link) => link.server === id)?.die(),
    wait: () => this.#sim.clock.advance(1_000),
    closeHandle: () => this.#quietly((handle) => handle.close()),
  };

  do(operation: Operation): void {
    this.#take[operation.kind](operation);
  }

  #call(id: string, session: string): void {
    const handle = this.handles.at(-1);
    if (handle === undefined) return;
    const abort = new AbortController();
    const text = `call ${this.made.length}`;
    const calling = handle.call(`mcp__${id}__echo`, { text }, { signal: abort.signal, session });
    const made: Made = { text, session, outcome: outcomeOf(calling), abort, answer: null, isWithdrawn: false };
    calling.then(
      ({ content }) => {
        made.answer = content;
      },
      () => undefined,
    );
    this.made.push(made);
  }

  /** What a handle that is closed, or an id that is gone, refuses is no matter here. */
  #quietly(act: (handle: Workspace) => unknown): void {
    const handle = this.handles.at(-1);
    if (handle !== undefined) outcomeOf(Promise.resolve(handle).then(act));
  }
}

async function play(scheduler: fc.Scheduler, isBroken: boolean, operations: readonly Operation[]): Promise<void> {
  const sim = new Simulation();
  const user = layer('user', [server('user')]);
  // A first reading with a fault is taken as far as it goes.
  sim.layers = [user, isBroken ? rejectedLayer('workspace') : layer('workspace', [server('own')])];
  for (const id of ['user', 'own']) sim.behaviours.set(id, { opens: false, shakes: false, lists: false, closes: false });
  const approvals = new Approvals();
  const approve: Ask = async (question) => {
    await scheduler.schedule(Promise.resolve(), 'a person says yes');
    if (question.kind === 'server') approvals.granted.add(question.fingerprint);
    return 'approve';
  };
  const supervisor = sim.supervisor({ approve }, scheduled(sim, scheduler, approvals));
  const host = new Host(sim, supervisor);
  host.do({ kind: 'open', id: 'user', session: 'one' });
  await scheduler.waitIdle();
  sim.layers = [user, layer('workspace', [server('own')])];
  for (const operation of operations) void scheduler.schedule(Promise.resolve(), operation.kind).then(() => host.do(operation));
  await drained(sim, scheduler);

  const before = host.made.map(({ outcome }) => outcome.state);
  const closing = outcomeOf(supervisor.close());
  await drained(sim, scheduler);
  expect(closing.state, 'the close').toBe('ok');
  for (const { outcome, answer, text, isWithdrawn } of host.made) {
    expect(outcome.state, 'how a call ended').toMatch(/^[a-zA-Z_]+$/);
    expect(outcome.state, 'how a call ended').not.toBe('open');
    if (outcome.state === 'ok') expect(answer, 'what a call was answered').toBe(text);
    if (!isWithdrawn) expect(outcome.state, `${text}, which nobody withdrew`).not.toBe('CALL_CANCELLED');
  }
  expect(before, 'calls that nobody answered in a world where everything comes').not.toContain('open');
  expect(host.opened.map(({ state }) => state)).not.toContain('open');
  expect(approvals.violations, 'what was started unapproved').toEqual([]);
  const sent = sim.links.flatMap(({ calls }) => calls.map(({ params }) => JSON.stringify(params)));
  expect(new Set(sent).size, 'calls that were sent once').toBe(sent.length);
  expect(sim.remains(), 'what is left').toEqual([]);
}

/** Everything that can happen has happened, what waits for time included; a server that failed waits for longer than that. */
async function drained(sim: Simulation, scheduler: fc.Scheduler): Promise<void> {
  for (let round = 0; round < 20; round += 1) {
    await scheduler.waitIdle();
    await sim.run(5_000);
  }
  await scheduler.waitIdle();
  await sim.settle();
}

const property = fc.asyncProperty(fc.scheduler(), fc.boolean(), fc.array(operation, { maxLength: 20, size: 'max' }), play);

test('in whatever order the world and the host do what they do, every call settles once and as its own, and a close leaves nothing', async () => {
  // A run is a whole workspace, so fewer of them than elsewhere, unless the run asks for more.
  await fc.assert(property, fc.readConfigureGlobal().numRuns === undefined ? { numRuns: 40 } : {});
});
