import { InMemoryTransport, type JSONRPCMessage } from '@modelcontextprotocol/server';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createMcpServer } from '../adapters/serve/mcp-server.js';
import { OpenCalls } from '../adapters/serve/open-calls.js';
import type { RunOptions, ServedResult, ServedWorkspace } from '../adapters/serve/served-workspace.js';

/** Clients that use the same ids and tokens; calls, answers and withdrawals in every order. */
const CLIENTS = 3;
const client = fc.nat({ max: CLIENTS - 1 });
const at = fc.nat({ max: 5 });
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('call' as const), client }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('answer' as const, 'progress' as const), at }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('withdraw' as const), client, at }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'turn' as const }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

interface Run {
  readonly owner: string;
  readonly session: string;
  readonly id: number;
  readonly options: RunOptions;
  /** The texts of another call's answer would show that it went astray. */
  readonly answer: (text: string) => void;
}

type Confuse = (runs: readonly Run[], meant: Run) => Run;
type Message = JSONRPCMessage & {
  readonly id?: number;
  readonly result?: ServedResult;
  readonly params?: Record<string, unknown>;
};

/** The clients of one workspace, whose calls stand in one row whoever they are from. */
class House {
  readonly runs: Run[] = [];
  readonly clients: Awaited<ReturnType<House['connect']>>[] = [];
  /** Ids of the next interleaving; all clients use the same ones. */
  base = 0;

  readonly workspace: ServedWorkspace = {
    gateway: {
      tool: { name: 'mcp', description: '', inputSchema: { type: 'object' } },
      instructions: '',
      run: (request, options) =>
        new Promise((resolve) => {
          const { owner, id } = request as { owner: string; id: number };
          const answer = (text: string): void => resolve({ content: [{ type: 'text', text }] });
          this.runs.push({ owner, id, session: options.session, options, answer });
        }),
      tools: () => [],
      watchTools: () => () => undefined,
    },
    endSession: () => undefined,
  };

  async open(): Promise<void> {
    for (let each = 0; each < CLIENTS; each += 1) this.clients.push(await this.connect(`c${each}`));
  }

  async connect(session: string) {
    const [near, far] = InMemoryTransport.createLinkedPair();
    const heard: Message[] = [];
    near.onmessage = (message) => void heard.push(message as Message);
    const calls = new OpenCalls({
      run: (request, options) => this.workspace.gateway.run(request, options),
      nonce: () => '',
      now: () => 0,
      openMax: 64,
    });
    const surface = { workspace: this.workspace, info: { name: 'served', version: '1' }, isDirect: false };
    const mcp = createMcpServer(surface, { era: 'legacy', calls, session });
    await mcp.connect(far);
    await near.start();
    return { near, heard, mcp, session };
  }

  async close(): Promise<void> {
    for (const { mcp } of this.clients) await mcp.close();
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function play(house: House, steps: readonly Step[], confuse: Confuse): Promise<void> {
  const { clients, runs, base } = house;
  const sent = clients.map(() => 0);
  /** Calls that were withdrawn before anybody answered, and those where both are on their way at once. */
  const withdrawn = new Set<string>();
  const either = new Set<string>();
  const answered = new Set<string>();
  const ownerOf = (which: number, id: number | string): string => `c${which} ${id}`;
  for (const one of steps) {
    if (one.kind === 'turn') await turn();
    else if (one.kind === 'call') {
      const id = base + (sent[one.client] ?? 0);
      sent[one.client] = id - base + 1;
      const params = { name: 'mcp', arguments: { owner: ownerOf(one.client, id), id }, _meta: { progressToken: id } };
      void clients[one.client]?.near.send({ jsonrpc: '2.0', id, method: 'tools/call', params });
    } else if (one.kind === 'withdraw') {
      const isCalled = one.at < (sent[one.client] ?? 0);
      const id = isCalled ? base + one.at : `nobody-${one.at}`;
      const owner = ownerOf(one.client, id);
      if (isCalled) (answered.has(owner) ? either : withdrawn).add(owner);
      void clients[one.client]?.near.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    } else {
      const meant = runs[one.at % Math.max(1, runs.length)];
      if (meant === undefined) continue;
      const run = confuse(runs, meant);
      if (one.kind === 'progress') run.options.onProgress({ progress: 1, message: meant.owner });
      else {
        answered.add(meant.owner);
        run.answer(meant.owner);
      }
    }
  }
  await turn();
  for (const run of runs) run.answer(run.owner);
  await turn();
  for (const [which, { heard }] of clients.entries()) {
    const replies = heard.filter(({ result }) => result !== undefined);
    const ids = Array.from({ length: sent[which] ?? 0 }, (_, each) => base + each);
    const isOpen = (id: number | undefined): boolean => !either.has(ownerOf(which, id ?? -1));
    expect(new Set(replies.map(({ id }) => id)).size, 'replies to a call').toBe(replies.length);
    expect(
      replies
        .map(({ id }) => id)
        .filter(isOpen)
        .sort(),
      'calls that were answered',
    ).toEqual(ids.filter((id) => isOpen(id) && !withdrawn.has(ownerOf(which, id))).sort());
    for (const { id, result } of replies) expect(result?.content[0]?.['text'], 'its own reply').toBe(ownerOf(which, id ?? -1));
    for (const { params } of heard.filter(({ params: report }) => report?.['progressToken'] !== undefined))
      expect(params?.['message'], 'its own progress').toBe(ownerOf(which, Number(params?.['progressToken'])));
    heard.length = 0;
  }
  for (const { owner, options } of runs)
    if (!either.has(owner)) expect(options.signal.aborted, `withdrawal of ${owner}`).toBe(withdrawn.has(owner));
  runs.length = 0;
  house.base += STEPS_MAX;
}

const STEPS_MAX = 12;
const interleaving = fc.array(step, { minLength: 4, maxLength: STEPS_MAX, size: 'max' });

/** All interleavings on the same connections, one after the other. */
async function inOneHouse<T>(
  use: (property: (confuse: Confuse) => fc.IAsyncPropertyWithHooks<[Step[]]>) => Promise<T>,
): Promise<T> {
  let house = new House();
  await house.open();
  try {
    return await use((confuse) =>
      fc.asyncProperty(interleaving, async (steps) => {
        try {
          await play(house, steps, confuse);
        } catch (error) {
          // What a failure leaves half done must not fail the smaller cases after it.
          await house.close();
          house = new House();
          await house.open();
          throw error;
        }
      }),
    );
  } finally {
    await house.close();
  }
}

test(
  'S130: over ten thousand interleavings of clients that use the same ids, every reply and report reaches its owner, once',
  () =>
    inOneHouse((property) =>
      fc.assert(
        property((_runs, meant) => meant),
        { numRuns: 10_000 },
      ),
    ),
  120_000,
);

describe('would notice', () => {
  /** Planted: a table by the ids that clients choose, in which the first one stands for all. */
  const byId: Confuse = (runs, meant) => runs.find(({ id }) => id === meant.id) ?? meant;
  const last: Confuse = (runs, meant) => runs.at(-1) ?? meant;

  test.each([
    ['calls that are told apart by nothing but the ids that clients choose', byId],
    ['a reply that goes to whoever asked last', last],
  ])('%s', (_bug, confuse) =>
    inOneHouse(async (property) => {
      expect((await fc.check(property(confuse), { numRuns: 1_000, endOnFailure: true })).failed).toBe(true);
    }),
  );
});
