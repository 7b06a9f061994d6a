import { expect, test, vi } from 'vitest';
import { type CallSettings, httpClients, openHttp, served, type TestClient, textOf } from './support/serve-kit.js';
import { server } from './support/simulated-ports.js';

const TOOL = 'mcp__files__echo';
const call = (client: TestClient, args: object, settings?: CallSettings) =>
  client.call('mcp', { action: 'call', name: TOOL, args }, settings);

test('a client of each SDK lists the one tool, searches, describes and calls, at the same time', async () => {
  const { sim, workspace, surface } = await served();
  const clients = await httpClients(await openHttp(surface));
  for (const client of clients) {
    expect(client.instructions()).toBe(workspace.gateway.instructions);
    expect((await client.list()).tools).toEqual([workspace.gateway.tool]);
    expect(textOf(await client.call('mcp', { action: 'search', query: 'echo' }))).toContain(TOOL);
    expect(textOf(await client.call('mcp', { action: 'describe', name: TOOL }))).toContain('Input schema');
  }
  const calls = clients.map((client) => call(client, { from: client.era }));
  await vi.waitFor(() => expect(sim.link('files').calls).toHaveLength(2));
  // The last one asked is the first one answered.
  for (const { id, params } of [...sim.link('files').calls].reverse())
    sim.link('files').answer(id, { content: [{ type: 'text', text: JSON.stringify(params) }] });
  const answers = await Promise.all(calls);
  expect(answers.map((answer) => JSON.parse(textOf(answer)) as unknown)).toEqual(
    clients.map(({ era }) => ({ name: 'echo', arguments: { from: era } })),
  );
});

test('what a client withdraws is withdrawn from the server, and nothing else is (S132)', async () => {
  const { sim, surface } = await served();
  for (const client of await httpClients(await openHttp(surface))) {
    const before = sim.link('files').calls.length;
    const abort = new AbortController();
    const withdrawn = call(client, {}, { signal: abort.signal }).catch((error: unknown) => error);
    await vi.waitFor(() => expect(sim.link('files').calls).toHaveLength(before + 1));
    const kept = call(client, {});
    await vi.waitFor(() => expect(sim.link('files').calls).toHaveLength(before + 2));
    abort.abort();
    const [first, second] = sim.link('files').calls.slice(before);
    await vi.waitFor(() => expect(sim.link('files').cancelled).toContain(first?.id));
    sim.link('files').answer(second?.id ?? '', { content: [{ type: 'text', text: 'kept' }] });
    expect(textOf(await kept)).toBe('kept');
    expect(sim.link('files').cancelled).not.toContain(second?.id);
    expect(await withdrawn).toBeInstanceOf(Error);
  }
});

test('progress comes to the call that it belongs to (S131)', async () => {
  const { sim, surface } = await served();
  for (const client of await httpClients(await openHttp(surface))) {
    const before = sim.link('files').calls.length;
    const heard: [string, number][] = [];
    const calls = ['one', 'two'].map((name) =>
      call(client, { name }, { onprogress: ({ progress }) => void heard.push([name, progress]) }),
    );
    await vi.waitFor(() => expect(sim.link('files').calls).toHaveLength(before + 2));
    const sent = sim.link('files').calls.slice(before);
    const nameOf = (position: number) => (sent[position]?.params as { arguments: { name: string } }).arguments.name;
    sim.link('files').progress(sent[1]?.id ?? '', 7);
    await vi.waitFor(() => expect(heard).toEqual([[nameOf(1), 7]]));
    for (const { id } of sent) sim.link('files').answer(id);
    await Promise.all(calls);
  }
});

test('a call that has to be approved is asked of the client it came from, with all that it would send', async () => {
  const { sim, surface } = await served([server('files', { approveTools: [] })]);
  const kit = await openHttp(surface);
  const clients = await httpClients(kit, { answer: () => ({ action: 'accept', content: { decision: 'approve' } }) });
  const others = await httpClients(kit, { answer: () => ({ action: 'accept', content: { decision: 'approve' } }) });
  sim.link('files').behaviour.answers = true;
  for (const client of clients) {
    expect((await call(client, { path: '/etc/passwd\u202e' })).isError).toBeUndefined();
    expect(client.forms).toEqual([expect.stringContaining('"path": "/etc/passwd\\u202e"')]);
    expect(client.forms[0]).toContain(`Server: "files"\nTool: ${TOOL}\n`);
  }
  expect(others.flatMap(({ forms }) => forms)).toEqual([]);
});

test.each([
  ['declined', { action: 'decline' }],
  ['closed', { action: 'cancel' }],
  ['sent off with the no that was chosen already', { action: 'accept', content: { decision: 'deny' } }],
  ['sent off empty', { action: 'accept', content: {} }],
  ['answered with a word of its own', { action: 'accept', content: { decision: 'APPROVE' } }],
])('a form that is %s is a no (S127)', async (_how, answer) => {
  const { sim, surface } = await served([server('files', { approveTools: [] })]);
  for (const client of await httpClients(await openHttp(surface), { answer: () => answer })) {
    const result = await call(client, {});
    expect(result.structuredContent).toMatchObject({ blocked: true, code: 'BLOCKED_BY_USER', tool: TOOL });
  }
  expect(sim.link('files').calls).toEqual([]);
});

test('a client that cannot be sent a form is told at once that nobody can be asked, and which line would allow the call', async () => {
  const { surface, workspace } = await served([server('files', { approveTools: [] })]);
  for (const client of await httpClients(await openHttp(surface))) {
    const result = await call(client, {});
    expect(result.structuredContent).toMatchObject({ blocked: true, code: 'APPROVAL_NO_CHANNEL' });
    expect(textOf(result)).toContain('"toolPolicies": { "files.echo": "allow" }');
  }
  expect(workspace.questions()).toEqual([]);
});

test('a question that a client withdraws from is open no more', async () => {
  const { surface, workspace } = await served([server('files', { approveTools: [] })]);
  const [legacy] = await httpClients(await openHttp(surface), { answer: () => new Promise(() => undefined) });
  const abort = new AbortController();
  const asked = call(legacy, {}, { signal: abort.signal }).catch(() => 'withdrawn');
  await vi.waitFor(() => expect(workspace.questions()).toHaveLength(1));
  abort.abort();
  expect(await asked).toBe('withdrawn');
  await vi.waitFor(() => expect(workspace.questions()).toEqual([]));
});

test('whatever is open when the door closes is withdrawn, and nothing of it is left', async () => {
  const { sim, surface, workspace } = await served();
  const { door, token } = await openHttp(surface);
  const clients = await httpClients({ door, token });
  const calls = clients.map((client) => call(client, {}).catch(() => 'ended'));
  await vi.waitFor(() => expect(sim.link('files').calls).toHaveLength(2));
  await door.close();
  await vi.waitFor(() => expect(workspace.status().servers[0]?.callsInFlight).toBe(0));
  expect(sim.link('files').cancelled).toHaveLength(2);
  await Promise.all(clients.map((client) => client.close()));
  await Promise.allSettled(calls);
});
