import type { ServerStatus, Supervisor, Workspace } from '../../actors/api.js';
import { metadataKey } from '../../actors/metadata-store.js';
import { failure } from '../../machines/vocabulary.js';
import { type Outcome, outcomeOf } from '../../test/support/outcome.js';
import type { Behaviour, SentRequest, SimulatedLink } from '../../test/support/simulated-link.js';
import { layer, Simulation, server } from '../../test/support/simulated-ports.js';
import { CAPACITY, IDLE_MS, IDS, Model, type ServerId } from './model.js';

export interface CallCommand {
  readonly id: ServerId;
  readonly tool: string;
  readonly session: string;
}

export interface Made extends CallCommand {
  readonly text: string;
  readonly madeMs: number;
  readonly abort: AbortController;
  readonly outcome: Outcome;
  /** What it resolved with; null until then. */
  answer: unknown;
}

/** Bounds a call from its making on, but for what a person takes to answer. */
export const CALL_MS = 45_000;
const FAR = 'https://far.example/mcp';
const commandOf = (id: ServerId): string => (id === 'far' ? FAR : id);
export const idOf = (link: SimulatedLink): ServerId => IDS.find((id) => commandOf(id) === link.server) ?? 'lazy';
export const textOf = ({ params }: SentRequest): string =>
  (params as { readonly arguments: { readonly text: string } }).arguments.text;

/** What a server does by itself; the lazy one is slow to end, so that its next life has to wait for the last. */
const usual = (id: ServerId): Partial<Behaviour> => ({ tools: ['echo', 'rm'], closes: id !== 'lazy' });

const RULES: Readonly<Record<string, readonly ('allow' | 'deny')[]>> = {
  none: [],
  deny: ['deny'],
  'deny and allow': ['deny', 'allow'],
  'allow and deny': ['allow', 'deny'],
};

/** The files that say what the model says. */
export function layersOf(model: Model) {
  const definition = (id: ServerId) => {
    const common = { configHash: model.hash(id), idleTimeoutMs: model.idleMs[id], initTimeoutMs: 20_000, timeoutMs: 120_000 };
    if (id === 'far') return server(id, { ...common, transport: 'http', url: FAR, isRemote: true });
    return server(id, { ...common, lifecycle: id === 'kept' ? 'keep-alive' : 'lazy' });
  };
  const present = IDS.filter((id) => model.present.has(id));
  const toolPolicies = (RULES[model.rules] ?? []).flatMap((verdict) =>
    IDS.map((id) => ({ server: id, tool: 'rm', verdict, layer: 'user' as const })),
  );
  return [
    layer('user', present.filter((id) => id !== 'own').map(definition), { toolPolicies, limits: { live: CAPACITY } }),
    layer('workspace', present.filter((id) => id === 'own').map(definition)),
  ];
}

/** Lists of the workspace's own server, as a program left them that nobody has approved on this machine. */
async function keepForeignLists(sim: Simulation): Promise<void> {
  const { clock, db, digest } = sim.ports;
  const tools = [{ key: 'foreign', definition: { name: 'foreign', inputSchema: { type: 'object' } } }];
  const owner = { id: 'own', layer: 'workspace', configHash: new Model().hash('own') } as const;
  const kept = { savedAtMs: clock.epoch(), ttlMs: null, fingerprint: 'of another program', lists: { tools } };
  await db.saveMetadata(metadataKey(owner, { digest, root: '/repo' }), kept);
}

/** A real workspace on simulated ports, with a ledger of the calls that were made. Asserts nothing. */
export class World {
  readonly sim: Simulation;
  readonly supervisor: Supervisor;
  readonly workspace: Workspace;
  readonly made: Made[] = [];

  private constructor(sim: Simulation, supervisor: Supervisor, workspace: Workspace) {
    this.sim = sim;
    this.supervisor = supervisor;
    this.workspace = workspace;
  }

  static async open(): Promise<World> {
    const sim = new Simulation();
    sim.layers = layersOf(new Model());
    for (const id of IDS) sim.behaviours.set(commandOf(id), usual(id));
    await keepForeignLists(sim);
    sim.fingerprints.set('own', new Model().fingerprint);
    // The channel never answers by itself: a question is answered by its nonce.
    const { supervisor, workspace } = await sim.open({ discover: true, approve: () => new Promise(() => undefined) });
    return new World(sim, supervisor, workspace);
  }

  // ── what shows ──

  get servers(): readonly ServerStatus[] {
    return this.workspace.status().servers;
  }

  /** Ready servers, each with its generation. */
  get ready(): ReadonlyMap<string, number> {
    return new Map(this.servers.flatMap(({ id, phase, generation }) => (phase === 'ready' ? [[id, generation]] : [])));
  }

  get openCalls(): readonly Made[] {
    return this.made.filter(({ outcome }) => outcome.state === 'open');
  }

  get sentCalls(): readonly { readonly link: SimulatedLink; readonly request: SentRequest }[] {
    return this.sim.links.flatMap((link) => link.calls.map((request) => ({ link, request })));
  }

  isSent({ text }: Made): boolean {
    return this.sentCalls.some(({ request }) => textOf(request) === text);
  }

  /** The newest link of a server, if it has not ended. */
  link(id: ServerId): SimulatedLink | undefined {
    return this.sim.openLinks.findLast((link) => idOf(link) === id);
  }

  // ── what is done ──

  call({ id, tool, session }: CallCommand, timeoutMs = CALL_MS): Made {
    const abort = new AbortController();
    const text = `call ${this.made.length}`;
    const calling = this.workspace.call(`mcp__${id}__${tool}`, { text }, { signal: abort.signal, session, timeoutMs });
    const madeMs = this.sim.clock.now();
    const made: Made = { id, tool, session, text, madeMs, abort, outcome: outcomeOf(calling), answer: null };
    calling.then(
      ({ content }) => {
        made.answer = content;
      },
      () => undefined,
    );
    this.made.push(made);
    return made;
  }

  /** What a server does about a call it was sent, counted from the latest. */
  serve(id: ServerId, what: string, nth: number): void {
    const link = this.link(id);
    const sent = link?.calls.at(-1 - nth);
    if (link === undefined || sent === undefined) return;
    if (what === 'fails') link.fail(sent.id, failure('SERVER_ERROR', 'no'));
    else if (what === 'progresses') link.progress(sent.id);
    else link.answer(sent.id, { content: textOf(sent) });
  }

  decide(model: Model, nth: number, yes: boolean): void {
    const questions = this.workspace.questions();
    const question = questions[nth % Math.max(1, questions.length)];
    if (question === undefined) return;
    if (yes && question.kind === 'server') model.approved.add(question.fingerprint);
    if (yes && question.kind === 'call') model.approvedCalls.add((question.arguments as { text: string }).text);
    this.workspace.answer(question.nonce, yes ? 'approve' : 'deny');
  }

  behave(id: ServerId, changes: Partial<Behaviour>): void {
    this.sim.behaviours.set(commandOf(id), { ...usual(id), ...changes });
  }

  /** From now on its list leads back to itself and names nothing. */
  listBadly(id: ServerId): void {
    const link = this.link(id);
    if (link === undefined) return;
    Object.assign(link.behaviour, { tools: [], page: { nextCursor: 'again' } });
    link.announce('tools');
  }

  finishClose(id: ServerId): void {
    const link = this.link(id);
    if (link?.isClosing === true) link.finishClose();
  }

  restart(model: Model, id: ServerId): void {
    if (model.present.has(id)) this.workspace.server(id).restart();
  }

  async turn(model: Model, id: ServerId, isOn: boolean): Promise<void> {
    if (!model.present.has(id)) return;
    model.on[isOn ? 'add' : 'delete'](id);
    await this.workspace.server(id)[isOn ? 'enable' : 'disable']();
  }

  /** Another definition; also of what was taken out, which is there again. */
  change(model: Model, id: ServerId): void {
    model.versions[id] += 1;
    model.present.add(id);
    this.sim.fingerprints.set('own', model.fingerprint);
    this.write(model);
  }

  /** The program behind the workspace's own server is another one now. */
  rewrite(model: Model): void {
    model.rewritten += 1;
    this.sim.fingerprints.set('own', model.fingerprint);
  }

  adjust(model: Model, id: ServerId): void {
    model.idleMs[id] = model.idleMs[id] === IDLE_MS ? IDLE_MS + 5_000 : IDLE_MS;
    this.write(model);
  }

  remove(model: Model, id: ServerId): void {
    model.present.delete(id);
    this.write(model);
  }

  write(model: Model): void {
    this.sim.change(layersOf(model));
  }
}
