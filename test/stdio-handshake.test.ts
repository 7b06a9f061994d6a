import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import {
  ask,
  callTool,
  failureOf,
  findMarked,
  hostile,
  launchOf,
  newLinkPort,
  openLink,
  textResult,
} from './support/stdio-harness.js';

const caseFile = (name: string): string => readFileSync(join(import.meta.dirname, 'cases', name), 'utf8');

describe('the handshake', () => {
  test('with a modern server speaks 2026-07-28', async () => {
    const { link, heard } = openLink(launchOf('modern-server.mjs'));
    expect(await link.handshake()).toEqual({
      era: 'modern',
      protocolVersion: '2026-07-28',
      serverInfo: { name: 'modern', version: '2.0.0' },
      lists: ['tools'],
      announces: true,
    });
    expect(heard.opened).toEqual(findMarked().alive);
  });

  test('with a server of the older SDK falls back to initialise', async () => {
    const entry = dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json'));
    const launch = launchOf('modern-server.mjs');
    const { link } = openLink({ ...launch, args: [join(entry, 'dist/index.js'), 'stdio', ...launch.args.slice(1)] });
    expect(await link.handshake()).toMatchObject({
      era: 'legacy',
      protocolVersion: '2025-11-25',
      lists: ['tools', 'resources', 'resourceTemplates', 'prompts'],
    });
    const { result } = await ask(link, 'tools/list').settled;
    expect((result as { tools: unknown[] }).tools).toHaveLength(13);
    expect((await callTool(link, 'echo', { message: 'hi' }).settled).result).toEqual(textResult('Echo: hi'));
  });

  test('B029 B047: a server silent on the first question is asked in the older way, and next time at once', async () => {
    const port = newLinkPort();
    const first = openLink(hostile('flood-on-discover'), { port });
    expect((await first.link.handshake()).era).toBe('legacy');
    expect(first.link.diagnosis().stderrTail).toContain('deprecated!');
    await first.link.close();
    const second = openLink(hostile('flood-on-discover'), { port });
    expect((await second.link.handshake()).era).toBe('legacy');
    expect(second.link.diagnosis().stderrTail).toBe('');
  });

  test('a server that dies of the first question is started once more, and next time only once', async () => {
    const port = newLinkPort();
    const first = openLink(hostile('exit-on-discover'), { port });
    expect((await first.link.handshake()).era).toBe('legacy');
    expect([first.heard.opened.length, first.heard.lost]).toEqual([2, []]);
    expect(first.heard.opened.slice(1)).toEqual(findMarked().alive);
    expect((await callTool(first.link, 'echo', { text: 'alive' }).settled).result).toEqual(textResult('alive'));
    await first.link.close();
    const second = openLink(hostile('exit-on-discover'), { port });
    await second.link.handshake();
    expect(second.heard.opened).toEqual(findMarked().alive);
  });

  test('a modern server slow to start, taken for an older one meanwhile, is understood in the end', async () => {
    const port = newLinkPort();
    const { link } = openLink(launchOf('modern-server.mjs', '--boot=2500'), { port });
    expect((await link.handshake()).era).toBe('modern');
    expect((await callTool(link, 'echo', { text: 'hi' }).settled).result).toMatchObject(textResult('hi'));
  });

  test('a server of both eras slow to start is spoken to in the older way, and next time asked again', async () => {
    const port = newLinkPort();
    const slow = openLink(launchOf('modern-server.mjs', '--legacy=serve', '--boot=2500'), { port });
    expect((await slow.link.handshake()).era).toBe('legacy');
    const quick = openLink(launchOf('modern-server.mjs', '--legacy=serve'), { port });
    expect((await quick.link.handshake()).era).toBe('modern');
  });

  const { cases } = JSON.parse(caseFile('B049-discover-errors.rpc.json')) as {
    cases: { 'server/discover': { error: { code: number } } }[];
  };
  const codes = cases.map((entry) => entry['server/discover'].error.code).filter((code) => code !== -32_022);
  test.each(codes)('B049: the first question refused with %d falls back', async (code) => {
    const { link } = openLink(hostile('discover-error', `--code=${code}`));
    expect((await link.handshake()).era).toBe('legacy');
  });

  test('B032: an id given back as a string is taken for the number', async () => {
    const { link } = openLink(hostile('string-id'));
    expect((await link.handshake()).era).toBe('legacy');
  });

  test.each([
    ['exit-before-init', 'EXITED_EARLY', 'exit code 3'],
    ['exit-on-init', 'EXITED_EARLY', 'exit code 5'],
    ['init-error', 'INITIALIZE_FAILED', 'no: xxx'],
    ['init-version', 'ERA_NEGOTIATION_FAILED', '1999-01-01'],
  ])('B014: %s fails it with %s and says "%s"', async (mode, code, words) => {
    const { link } = openLink(hostile(mode));
    const error = await link.handshake().catch((thrown: unknown) => thrown as Error);
    expect(error).toMatchObject({ code, message: expect.stringContaining(words) as string });
    expect((error as Error).message.length).toBeLessThan(1_000);
  });

  test('a server that exits before it is settles the owner once, as a death', async () => {
    const { link, heard } = openLink(hostile('exit-before-init'));
    await failureOf(link.handshake());
    expect(heard.lost.map(({ code }) => code)).toEqual(['EXITED_EARLY']);
    expect(heard.deaths).toEqual([true]);
  });

  test('closing the link ends a handshake that hangs', async () => {
    const { link, heard } = openLink(hostile('hang-init'));
    const failed = failureOf(link.handshake());
    await vi.waitFor(() => expect(heard.opened).toHaveLength(1));
    await link.close();
    expect(await failed).toBe('LINK_LOST');
    expect(heard.lost).toEqual([]);
  });

  test('S043: a command that does not exist is lost with its name and the code of the system', async () => {
    const { link, heard } = openLink({ ...hostile('good'), command: '/nowhere/server' });
    expect(await failureOf(link.handshake())).toBe('SPAWN_FAILED');
    expect(heard.lost[0]?.message).toContain('/nowhere/server: ENOENT');
    expect(heard.opened).toEqual([]);
    expect(await link.close()).toMatchObject({ outcome: 'clean' });
  });

  test('a server that closed its input is beyond use although it lives', async () => {
    const { link, heard } = openLink({ ...hostile('good'), command: '/bin/sh', args: ['-c', 'exec 0<&-; exec sleep 20'] });
    expect(await failureOf(link.handshake())).toBe('INITIALIZE_FAILED');
    expect(heard.lost).toHaveLength(1);
  });
});
