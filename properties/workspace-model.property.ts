import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkAlways, checkRefusal, checkSent, reloadInVain, sparing, waitAndSee } from './workspace-model/checks.js';
import { closes, comesToLife, welcome } from './workspace-model/endings.js';
import { IDS, Model, type ServerId } from './workspace-model/model.js';
import { World } from './workspace-model/world.js';

type Step = fc.AsyncCommand<Model, World>;
type Run = (model: Model, world: World) => Promise<void> | void;

/** One command: what it does to the world and means in the model; afterwards they agree. */
const step = (label: string, run: Run): Step => ({
  check: () => true,
  run: async (model, world) => {
    await run(model, world);
    await world.sim.settle();
    checkAlways(model, world);
    checkSent(model, world);
  },
  toString: () => label,
});

const id = fc.constantFrom(...IDS);
const session = fc.constantFrom('one', 'two');
const at = fc.nat({ max: 4 });
const flag = fc.boolean();

const calls = {
  call: fc.record({ id, session, tool: fc.constantFrom('echo', 'echo', 'rm') }).map((one) =>
    step(`call ${one.id}.${one.tool} of ${one.session}`, async (model, world) => {
      const made = world.call(one);
      await world.sim.settle();
      checkRefusal(model, made);
    }),
  ),
  serve: fc
    .record({ id, at, what: fc.constantFrom('answers', 'answers', 'fails', 'progresses') })
    .map((one) => step(`${one.id} ${one.what} ${one.at}`, (_, world) => world.serve(one.id, one.what, one.at))),
  withdraw: at.map((nth) =>
    step(`cancel ${nth}`, async (_, world) => {
      const made = world.openCalls.at(-1 - nth);
      made?.abort.abort();
      await world.sim.settle();
      if (made !== undefined) expect(made.outcome.state, 'a call that was withdrawn').toBe('CALL_CANCELLED');
    }),
  ),
  endSession: session.map((name) =>
    step(`end ${name}`, async (_, world) => {
      const open = world.openCalls;
      world.workspace.endSession(name);
      await world.sim.settle();
      const wanted = open.map((one) => (one.session === name ? 'CALL_CANCELLED' : 'open'));
      expect(
        open.map(({ outcome }) => outcome.state),
        `calls after the end of session ${name}`,
      ).toEqual(wanted);
    }),
  ),
  decide: fc
    .record({ at, yes: fc.constantFrom(true, true, false) })
    .map((one) => step(one.yes ? 'yes' : 'no', (model, world) => world.decide(model, one.at, one.yes))),
};

const ofServer: Readonly<Record<string, (model: Model, world: World, server: ServerId) => Promise<void> | void>> = {
  dies: (_, world, server) => world.link(server)?.die(),
  'cannot be reached': (_, world, server) => world.link(server)?.die('CONNECT_FAILED', false),
  'needs a person': (_, world, server) => world.link(server)?.die('AUTH_REQUIRED', false),
  closed: (_, world, server) => world.finishClose(server),
  'starts badly': (_, world, server) => world.behave(server, { atOpen: 'lost' }),
  'starts slowly': (_, world, server) => world.behave(server, { opens: false }),
  'is silent': (_, world, server) => world.behave(server, { shakes: false }),
  'starts well': (_, world, server) => world.behave(server, {}),
  'lists badly': (_, world, server) => world.listBadly(server),
  announces: (_, world, server) => world.link(server)?.announce('tools'),
  restart: (model, world, server) => world.restart(model, server),
  enable: (model, world, server) => sparing(world, [server], () => world.turn(model, server, true)),
  disable: (model, world, server) => sparing(world, [server], () => world.turn(model, server, false)),
  change: (model, world, server) => sparing(world, [server], () => world.change(model, server)),
  'is rewritten': (model, world) => world.rewrite(model),
  adjust: (model, world, server) => sparing(world, [], () => world.adjust(model, server)),
  remove: async (model, world, server) => {
    await sparing(world, [server], () => world.remove(model, server));
    expect(
      world.openCalls.filter((one) => one.id === server),
      'calls of what was removed',
    ).toEqual([]);
  },
};

const servers = fc
  .record({ what: fc.constantFrom(...Object.keys(ofServer)), id })
  .map((one) => step(`${one.id} ${one.what}`, (model, world) => ofServer[one.what]?.(model, world, one.id)));

const gates = {
  reload: fc
    .constantFrom('same', 'rejected', 'mixed', 'unreadable')
    .map((what) => step(`reload ${what}`, (model, world) => reloadInVain(model, world, what))),
  rules: fc.constantFrom('none', 'deny', 'deny and allow', 'allow and deny').map((rules) =>
    step(`rules ${rules}`, (model, world) => {
      model.rules = rules;
      return sparing(world, [], () => world.write(model));
    }),
  ),
  trust: flag.map((yes) =>
    step(`trust ${String(yes)}`, (model, world) => {
      model.trusted = yes;
      return sparing(world, ['own'], () => world.workspace.setTrusted(yes));
    }),
  ),
  remote: flag.map((yes) =>
    step(`remote ${String(yes)}`, (model, world) => {
      model.remote = yes;
      return sparing(world, ['far'], () => world.supervisor.setRemote(yes));
    }),
  ),
};

const wait = fc
  .constantFrom(60, 1_000, 6_000, 30_000, 70_000)
  .map((ms) => step(`wait ${ms}`, (_, world) => waitAndSee(world, ms)));

const { call, serve, withdraw, endSession, decide } = calls;
const { reload, rules, trust, remote } = gates;
const often = [call, call, call, serve, serve, decide, decide, servers, servers, servers, wait, wait];
const commands = fc.commands([...often, withdraw, endSession, reload, rules, trust, remote], { maxCommands: 40, size: 'max' });

/** Half of them begin with everything open, so that what stands behind the gates is met as often as they are. */
const property = fc.asyncProperty(flag, commands, async (isWelcome, script) => {
  const model = new Model();
  const world = await World.open();
  if (isWelcome) await welcome(model, world);
  await fc.asyncModelRun(() => ({ model, real: world }), script);
  await comesToLife(model, world);
  await closes(world);
});

test('whatever is commanded in whatever order, a workspace is as a small model says, comes to life again, and leaves nothing', async () => {
  // A run is a whole workspace, so fewer of them than elsewhere, unless the run asks for more.
  await fc.assert(property, fc.readConfigureGlobal().numRuns === undefined ? { numRuns: 40 } : {});
});
