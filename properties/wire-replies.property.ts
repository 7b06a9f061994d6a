import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RequestTable } from '../adapters/links/request-table.js';
import { WireTransport } from '../adapters/links/wire-transport.js';
import { failure } from '../machines/vocabulary.js';

const nth = fc.nat({ max: 5 });
const KINDS = ['ask', 'ask', 'answer', 'answer', 'refuse', 'fail', 'progress', 'forget', 'unwatch'] as const;
const step = fc.oneof(
  { weight: 15, arbitrary: fc.record({ kind: fc.constantFrom(...KINDS), nth }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('close' as const), nth }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** What the askers are told when all of it goes right: each request is pending, forgotten or over, and that is all there is to it. */
function told(steps: readonly Step[]): readonly string[] {
  const states: ('pending' | 'forgotten' | 'over')[] = [];
  const words: string[] = [];
  let isClosed = false;
  for (const { kind, nth: whichever } of steps) {
    const at = whichever % Math.max(1, states.length);
    const state = states[at];
    if (kind === 'ask' && isClosed) words.push('refused at once');
    else if (kind === 'ask') states.push('pending');
    else if (kind === 'close') {
      isClosed = true;
      states.fill('over');
    } else if (kind === 'progress' && state === 'pending') words.push(`${at} progress`);
    else if (kind === 'forget' && state === 'pending') states[at] = 'forgotten';
    else if (kind === 'unwatch' && state === 'forgotten') states[at] = 'over';
    else if (/answer|refuse|fail/.test(kind) && state !== undefined && state !== 'over') {
      if (state === 'forgotten') words.push(`${at} late ${kind === 'refuse' ? 'error' : 'result'}`);
      else words.push(kind === 'answer' ? `${at} answer to ${at}` : `${at} failed`);
      states[at] = 'over';
    }
  }
  return words;
}

/** What they are told by the table itself. */
function heard(steps: readonly Step[]): readonly string[] {
  const ids: string[] = [];
  const words: string[] = [];
  const table = new RequestTable((_frame, id) => {
    ids.push(id);
    return null;
  });
  const take: Readonly<Record<Step['kind'], (id: string, at: number) => void>> = {
    ask: () => {
      // Counted up by the frame, if one goes out.
      const name = ids.length;
      table.request(
        'tools/call',
        {},
        {
          result: ({ to }: { readonly to: number }) => void words.push(`${name} answer to ${to}`),
          failed: () => void words.push(ids.length === name ? 'refused at once' : `${name} failed`),
          progress: () => void words.push(`${name} progress`),
        },
      );
    },
    answer: (id, at) => table.answer(id, { result: { to: at } }),
    refuse: (id) => table.answer(id, { error: { code: 1, message: 'no' } }),
    fail: (id) => table.fail(id, failure('SERVER_ERROR', 'no')),
    progress: (id) => table.progress({ progressToken: id, progress: 1 }),
    forget: (id, at) => table.forget(id, (answer) => void words.push(`${at} late ${answer}`)),
    unwatch: (id) => table.unwatch(id),
    close: () => table.close(),
  };
  for (const { kind, nth: whichever } of steps) {
    const at = whichever % Math.max(1, ids.length);
    take[kind](ids[at] ?? 'nobody', at);
  }
  return words;
}

test('a request of a wire is answered at most once, with its own answer, and once it is forgotten with one late word', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
      expect(heard(steps)).toEqual(told(steps));
    }),
  );
});

const saying = fc.record({
  kind: fc.constantFrom('request', 'request', 'cancel', 'cancel', 'notify', 'answered', 'agreed'),
  nth,
});

describe('what an engine of the protocol says', () => {
  test('goes over the wire as it is, but for the cancellation of its handshake, which no revision allows', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(saying, { maxLength: 20, size: 'max' }), fc.nat({ max: 2 }), async (script, handshakeAt) => {
        const frames: string[] = [];
        const wanted: string[] = [];
        const transport = new WireTransport(null, (frame) => {
          frames.push(frame);
          return null;
        });
        let asked = 0;
        for (const { kind, nth: whichever } of script) {
          const about = whichever % Math.max(1, asked);
          if (kind === 'answered')
            transport.receive({ kind: 'answer', id: about, body: { jsonrpc: '2.0', id: about, result: {} } });
          else if (kind === 'agreed') transport.setProtocolVersion('2025-11-25');
          else {
            const method = asked === handshakeAt ? 'initialize' : 'tools/list';
            const message =
              kind === 'request'
                ? { jsonrpc: '2.0', id: asked, method }
                : { jsonrpc: '2.0', method: `notifications/${kind}led`, params: { requestId: about } };
            const isForbidden = kind === 'cancel' && about === handshakeAt && asked > handshakeAt;
            if (!isForbidden) wanted.push(JSON.stringify(message));
            if (kind === 'request') asked += 1;
            await transport.send(message);
          }
        }
        expect(frames).toEqual(wanted);
      }),
    );
  });
});
