import { describe, expect, test, vi } from 'vitest';
import type { ProcessHandlers } from '../actors/wire-ports.js';
import { ChildRun, type RunEnd } from '../adapters/links/child-run.js';
import { LIST_CHANGE_QUIET_MS, ListChanges } from '../adapters/links/list-changes.js';
import type { Message } from '../adapters/links/message.js';
import type { ListKind } from '../machines/vocabulary.js';
import { callTool, hostile, launchOf, openReady, textResult } from './support/stdio-harness.js';
import { VirtualClock } from './support/virtual-clock.js';

/** One life of a process that exists only here: what it writes is handed to the link by `write`. */
function running({ wanted = [] as string[] } = {}) {
  const clock = new VirtualClock();
  const noise: string[] = [];
  const messages: Message[] = [];
  const dropped: (string | number)[] = [];
  const ends: RunEnd[] = [];
  let isPaused = false;
  let handlers: ProcessHandlers | undefined;
  const child = {
    pid: 7,
    bufferedBytes: 0,
    write: () => undefined,
    endInput: () => undefined,
    pauseOutput: () => void (isPaused = true),
    resumeOutput: () => void (isPaused = false),
    signalGroup: () => false,
    isGroupAlive: () => false,
    destroy: () => undefined,
  };
  const process = {
    spawn(_launch: unknown, heard: ProcessHandlers) {
      handlers = heard;
      return child;
    },
  };
  const run = new ChildRun({ process, clock }, launchOf('echo-server.mjs'), {
    started: () => undefined,
    message: (message) => void messages.push(message),
    wants: (id) => (id === null ? wanted.length > 0 : wanted.includes(String(id))),
    dropped: (id) => void dropped.push(id),
    noise: (sample) => void noise.push(sample),
    stderr: () => undefined,
    ended: (end) => void ends.push(end),
  });
  return {
    ...{ clock, noise, messages, dropped, ends, run },
    write: (text: string) => handlers?.stdout(Buffer.from(text)),
    exit: () => handlers?.exited(0, null),
    isPaused: () => isPaused,
  };
}

const announcement = '{"jsonrpc":"2.0","method":"notifications/message"}\n';
const answer = (id: string): string => `{"jsonrpc":"2.0","id":"${id}","result":{}}\n`;

describe('a server that never stops writing', () => {
  test.each([
    ['lines of noise', 'x\n'],
    ['lines that only start like a message', '{\n'],
    ['lines that are no JSON', '{x}\n'],
    ['empty lines', '\n'],
    ['announcements', announcement],
    ['answers to nobody', answer('foreign')],
  ])('has no more than a few hundred %s read in a turn, and is not read from until the next', (_what, line) => {
    const server = running();
    server.write(line.repeat(10_000) + answer('last'));
    const counts: number[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      counts.push(server.noise.length + server.messages.length);
      expect(server.isPaused()).toBe(true);
      server.clock.advance(10);
    }
    for (const [at, count] of counts.entries()) expect(count - (counts[at - 1] ?? 0)).toBeLessThanOrEqual(256);
    server.clock.advance(1_000);
    expect(server.isPaused()).toBe(false);
    expect(server.messages.at(-1)).toMatchObject({ id: 'last' });
    expect(server.clock.pending).toBe(0);
  });

  test('has no more than a few MiB read in a turn', () => {
    const server = running();
    for (let chunk = 0; chunk < 32; chunk += 1) server.write('x'.repeat(65_536));
    expect(server.isPaused()).toBe(true);
  });

  test('is read at full pace as long as it answers what it was asked', () => {
    const server = running({ wanted: ['c1'] });
    server.write(answer('c1').repeat(1_000));
    expect(server.messages).toHaveLength(1_000);
    expect(server.isPaused()).toBe(false);
  });

  test('is read in the order it wrote, however often it is paused', () => {
    const server = running();
    const ids = Array.from({ length: 2_000 }, (_, at) => `f${at}`);
    const text = ids.map(answer).join('');
    server.write(text.slice(0, 30_001));
    server.write(text.slice(30_001));
    server.clock.advance(1_000);
    expect(server.messages.map((message) => (message.kind === 'answer' ? message.id : ''))).toEqual(ids);
  });

  test('is lost with a typed failure when it writes nothing but noise', () => {
    const server = running();
    for (let chunk = 0; chunk < 120; chunk += 1) {
      server.write('x\n'.repeat(1_000));
      server.clock.advance(100);
    }
    expect(server.ends).toMatchObject([{ kind: 'unusable', problem: { code: 'LINK_LOST' } }]);
    expect(server.noise.length).toBeLessThanOrEqual(100_001);
    expect(server.clock.pending).toBe(0);
    expect(server.isPaused()).toBe(false);
  });

  test('is not lost for as many lines in the course of a day', () => {
    const server = running();
    for (let line = 0; line < 1_500; line += 1) {
      server.write('x\n'.repeat(100));
      server.clock.advance(60_000);
    }
    expect(server.ends).toEqual([]);
    expect(server.noise).toHaveLength(150_000);
  });

  test('is read from once more when it has ended, and leaves no timer', () => {
    const server = running();
    server.write(`${'x\n'.repeat(300)}${answer('last')}`);
    server.exit();
    expect(server.messages).toHaveLength(1);
    expect(server.ends).toMatchObject([{ kind: 'exited' }]);
    expect(server.clock.pending).toBe(0);
  });

  test('may write what it likes once it is being stopped, so that it can end', async () => {
    const server = running();
    server.write('x\n'.repeat(300));
    expect(server.isPaused()).toBe(true);
    const stopping = server.run.stop();
    expect(server.isPaused()).toBe(false);
    const seen = server.noise.length;
    server.write('x\n'.repeat(300));
    expect(server.noise).toHaveLength(seen);
    server.exit();
    await server.clock.run(1_000);
    expect((await stopping).outcome).toBe('clean');
  });

  test.each(['{', '{x}', '', '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'])(
    'with lines of %j does not keep another from answering',
    async (line) => {
      const noisy = await openReady(hostile('flood', `--line=${line}`));
      const quiet = await openReady(launchOf('echo-server.mjs'));
      void callTool(noisy.link, 'echo');
      await vi.waitFor(() =>
        expect(noisy.link.diagnosis().noiseLines + noisy.heard.changed.length).toBeGreaterThan(line === '' ? -1 : 0),
      );
      for (let call = 0; call < 20; call += 1) {
        expect((await callTool(quiet.link, 'echo', { text: 'hi' }).settled).result).toEqual(textResult('hi'));
      }
      expect(noisy.heard.changed.length).toBeLessThan(100);
    },
  );
});

describe('announcements that a list changed', () => {
  const listening = () => {
    const clock = new VirtualClock();
    const told: [ListKind, number][] = [];
    return { clock, told, changes: new ListChanges(clock, (kind) => void told.push([kind, clock.now()])) };
  };

  test('are told as the first at once and the rest together, each list for itself', () => {
    const { clock, told, changes } = listening();
    for (let count = 0; count < 1_000; count += 1) changes.announced('notifications/tools/list_changed');
    changes.announced('notifications/prompts/list_changed');
    clock.advance(1_000);
    expect(told).toEqual([
      ['tools', 0],
      ['prompts', 0],
      ['tools', LIST_CHANGE_QUIET_MS],
    ]);
    expect(clock.pending).toBe(0);
  });

  test('are told after the link has ended no more', () => {
    const { clock, told, changes } = listening();
    changes.announced('notifications/tools/list_changed');
    changes.announced('notifications/tools/list_changed');
    changes.close();
    expect(clock.pending).toBe(0);
    clock.advance(1_000);
    expect(told).toHaveLength(1);
  });
});
