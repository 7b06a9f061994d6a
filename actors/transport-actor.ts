import { fromCallback } from 'xstate';
import type { TransportCommand, TransportFact, TransportInput } from '../machines/server-events.js';
import { type CloseOutcome, type Failure, failure } from '../machines/vocabulary.js';
import { CallTable, type CallTableOptions } from './call-table.js';
import { toFailure } from './errors.js';
import type { LinkTable, LiveLink } from './link-table.js';
import type { ClockPort, Launch, Link, LinkOptions, LinkPort } from './ports.js';

export interface TransportDeps {
  readonly clock: ClockPort;
  readonly link: LinkPort;
  readonly links: LinkTable;
  readonly clientInfo: LinkOptions['clientInfo'];
  /** What to start, looked at anew; rejects with `APPROVAL_STALE` when it is not what was approved. */
  readonly launchFor: (input: TransportInput) => Promise<Launch> | Launch;
  /** Told of every start, before it. */
  readonly onStart: (input: TransportInput, transport: Launch['transport']) => void;
  /** Everything about the calls of one server that is not the link's business. */
  readonly callOptions: (input: TransportInput) => CallTableOptions;
}

/** Opens one link of one generation and reports facts about it. Decides nothing: no retry, no restart, no state. */
export function createTransportActor(depsOf: (system: object) => TransportDeps) {
  return fromCallback<TransportCommand, TransportInput>(({ input, sendBack, receive, system }) => {
    const generation = new OpenGeneration(depsOf(system), input, (fact) => sendBack(fact));
    generation.start();
    receive(({ failure: ending }) => generation.close(ending));
    return () => generation.abandon();
  });
}

class OpenGeneration {
  readonly #deps: TransportDeps;
  readonly #input: TransportInput;
  readonly #report: (fact: TransportFact) => void;
  #live: LiveLink | undefined;
  #isHandshaking = false;
  #hasSpoken = false;
  #isLost = false;
  #isClosing = false;
  /** The machine has left: nobody listens any more. */
  #isAbandoned = false;

  constructor(deps: TransportDeps, input: TransportInput, report: (fact: TransportFact) => void) {
    this.#deps = deps;
    this.#input = input;
    this.#report = (fact) => {
      if (!this.#isAbandoned) report(fact);
    };
  }

  start(): void {
    try {
      const launch = this.#deps.launchFor(this.#input);
      if (!(launch instanceof Promise)) return this.#open(launch);
      launch.then((ready) => this.#open(ready)).catch((error: unknown) => this.#failStart(error));
    } catch (error) {
      this.#failStart(error);
    }
  }

  /** Settles the open calls at once, then stops the link in its own time. */
  close(ending: Failure): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    const live = this.#live;
    if (live === undefined) return this.#sayClosed('clean', 'nothing was started');
    // The machine ends a lost generation in this way too, before the loss itself has settled the calls.
    live.calls.failAll(ending, !this.#isLost);
    void this.#deps.links.track(
      closeQuietly(live.link).then(({ outcome, detail }) => {
        this.#deps.links.remove(this.#input);
        this.#sayClosed(outcome, detail);
      }),
    );
  }

  /** The machine left without waiting for `closed`, as a stopped system does. */
  abandon(): void {
    this.close(failure('LINK_LOST', 'the connection was closed'));
    this.#isAbandoned = true;
  }

  #open(launch: Launch): void {
    if (this.#isClosing) return;
    const { generation, configHash } = this.#input;
    const { link: port, links, clock, clientInfo, onStart } = this.#deps;
    onStart(this.#input, launch.transport);
    // What a link says before `open` has returned is heard after it: until then there is nothing that could be closed.
    const soon = (hear: () => void): void => (this.#live === undefined ? queueMicrotask(hear) : hear());
    const link = port.open(
      launch,
      {
        opened: ({ pid }) => soon(() => this.#opened(pid)),
        lost: (problem, death) => soon(() => this.#lose(problem, death)),
        listChanged: (kind) => this.#report({ type: 'list.changed', generation, kind }),
        stderr: () => this.#noteStderr(),
      },
      { clientInfo, configHash },
    );
    this.#live = { generation, link, calls: new CallTable(link, clock, this.#deps.callOptions(this.#input)) };
    links.put(this.#input.key, this.#live);
  }

  /** Once is enough: a server that logs much must not keep its machine busy. */
  #noteStderr(): void {
    if (this.#hasSpoken) return;
    this.#hasSpoken = true;
    this.#report({ type: 'transport.stderr', generation: this.#input.generation });
  }

  #opened(pid: number | null): void {
    this.#report({ type: 'transport.opened', generation: this.#input.generation, pid });
    // Telling it may have ended this generation. A second process is greeted by the handshake that asked for it.
    if (this.#live === undefined || this.#isLost || this.#isClosing || this.#isHandshaking) return;
    this.#isHandshaking = true;
    void this.#handshake(this.#live);
  }

  async #handshake(live: LiveLink): Promise<void> {
    try {
      const handshake = await live.link.handshake();
      this.#report({ type: 'transport.initialized', generation: live.generation, handshake });
    } catch (error) {
      this.#lose(toFailure(error, 'INITIALIZE_FAILED'), true);
    }
  }

  #failStart(error: unknown): void {
    this.#lose(toFailure(error, 'SPAWN_FAILED'), true);
  }

  /** The fact goes first: the machine has to see the calls that were in flight, before they are settled. */
  #lose(problem: Failure, death: boolean): void {
    if (this.#isLost || this.#isClosing) return;
    this.#isLost = true;
    this.#report({ type: 'transport.lost', generation: this.#input.generation, failure: problem, death });
    this.#live?.calls.failAll(problem.stage === 'call' ? problem : failure('LINK_LOST', problem.message));
  }

  #sayClosed(outcome: CloseOutcome, detail: string): void {
    this.#report({ type: 'transport.closed', generation: this.#input.generation, outcome, detail });
  }
}

/** A link promises not to fail at closing; one that does must not leave its server closing for ever. */
async function closeQuietly(link: Link): ReturnType<Link['close']> {
  try {
    return await link.close();
  } catch (error) {
    return { outcome: 'unknown', detail: toFailure(error, 'LINK_LOST').message };
  }
}
