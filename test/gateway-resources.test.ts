import { describe, expect, it } from 'vitest';
import { supervisorError } from '../actors/errors.js';
import { walk } from './support/catalogue-kit.js';
import { gatewayKit } from './support/gateway-host.js';

describe('resources and prompts', () => {
  it('are listed with templates and arguments', async () => {
    const { run } = gatewayKit();
    const resources = await run({ action: 'resources' });
    expect(resources.data['resources']).toEqual([
      { server: 'files', uri: 'file:///a', name: 'a', mimeType: 'text/plain', cached: false },
      { server: 'files', uriTemplate: 'file:///{p}', name: 'any', cached: false },
    ]);
    const prompts = await run({ action: 'prompts', server: 'files' });
    expect(prompts.data['prompts']).toEqual([
      {
        server: 'files',
        name: 'greet',
        description: 'Says hello',
        arguments: [
          { name: 'who', description: 'a name', required: true },
          { name: 'how', required: false },
        ],
        cached: false,
      },
    ]);
  });

  it('are listed page by page', async () => {
    const { run } = gatewayKit();
    const first = await run({ action: 'resources', limit: 1 });
    expect(first.text).toContain('More: again with "cursor"');
    const second = await run({ action: 'resources', limit: 1, cursor: first.data['nextCursor'] });
    expect(second.data).toMatchObject({ resources: [{ uriTemplate: 'file:///{p}' }], total: 2, nextCursor: null });
  });

  it('are none for a server without any, and an error for one that does not exist', async () => {
    const { run } = gatewayKit();
    expect((await run({ action: 'prompts', server: 'db' })).data).toEqual({ prompts: [], total: 0, nextCursor: null });
    expect((await run({ action: 'prompts', server: 'x' })).data['code']).toBe('UNKNOWN_SERVER');
    expect((await run({ action: 'resources', server: 'x' })).data['code']).toBe('UNKNOWN_SERVER');
  });

  it('a resource is read through the policy of its server; binary is named, never inlined', async () => {
    const { run, calls, answerWith } = gatewayKit();
    answerWith({
      contents: [
        { uri: 'file:///a', text: 'hello' },
        { uri: 'file:///b', mimeType: 'application/pdf', blob: 'JVBERi0=' },
      ],
    });
    const { content } = await run({ action: 'read', server: 'files', uri: 'file:///a' }, { session: 's' });
    expect(calls).toEqual([{ what: 'files resources/read', params: { uri: 'file:///a' }, options: { session: 's' } }]);
    expect(content[0]).toEqual({ type: 'resource', resource: { uri: 'file:///a', text: 'hello' } });
    expect(content[1]?.['text']).toMatch(/^\[resource file:\/\/\/b application\/pdf, 5 bytes, not shown\. As base64: /);
  });

  it('a denied read has the shape of every denial', async () => {
    const { run, answerWith } = gatewayKit();
    answerWith(supervisorError('BLOCKED_BY_POLICY', 'no'));
    const { data } = await run({ action: 'read', server: 'files', uri: 'file:///a' });
    expect(data).toEqual({ blocked: true, code: 'BLOCKED_BY_POLICY', tool: 'file:///a', reason: 'no' });
  });

  it('a read of a spill that is none of ours, or of a place that is none, is refused', async () => {
    const { run } = gatewayKit();
    expect((await run({ action: 'read', uri: 'spill://../../etc/passwd' })).data['code']).toBe('INVALID_ARGUMENTS');
    expect((await run({ action: 'read', uri: 'spill://a', cursor: '-1' })).data['code']).toBe('INVALID_ARGUMENTS');
    expect((await run({ action: 'read', uri: 'file:///a' })).data['message']).toBe('"server" is missing');
  });

  it('a prompt is fetched with its arguments and given as JSON', async () => {
    const { run, calls, answerWith } = gatewayKit();
    const messages = [{ role: 'user', content: { type: 'text', text: 'hi' } }];
    answerWith({ description: 'd', messages, _meta: {} });
    const { text } = await run({ action: 'prompt', server: 'files', name: 'greet', args: { who: 'Ada' } });
    expect(JSON.parse(text)).toEqual({ description: 'd', messages });
    expect(calls[0]).toMatchObject({ what: 'files prompts/get', params: { name: 'greet', arguments: { who: 'Ada' } } });
  });

  it.each([
    ['a prompt that does not exist', { name: 'x' }, 'files has no prompt of this name'],
    ['a required argument that is missing', { name: 'greet' }, '"args.who" is required'],
    ['an argument that is no string', { name: 'greet', args: { who: 3 } }, '"args.who" is no string'],
    ['an argument nobody asked for', { name: 'greet', args: { who: 'a', zzz: 'b' } }, '"args.zzz" is no argument'],
  ])('%s is refused before the server is asked', async (_what, request, message) => {
    const { run, calls } = gatewayKit();
    const { data } = await run({ action: 'prompt', server: 'files', ...request });
    expect(data['code']).toBe('INVALID_ARGUMENTS');
    expect(data['message']).toContain(message);
    expect(calls).toEqual([]);
  });

  it('a prompt whose definition has no readable arguments takes none', async () => {
    const { run, host, calls } = gatewayKit();
    host.catalogue.put(
      'files',
      'prompts',
      walk([
        { key: 'p', definition: { name: 'p', arguments: [3, {}] } },
        { key: 'q', definition: {} },
      ]),
    );
    await run({ action: 'prompt', server: 'files', name: 'p' });
    expect((await run({ action: 'prompt', server: 'files', name: 'q', args: { a: 'b' } })).data['code']).toBe(
      'INVALID_ARGUMENTS',
    );
    expect(calls).toMatchObject([{ params: { name: 'p', arguments: {} } }]);
  });
});
