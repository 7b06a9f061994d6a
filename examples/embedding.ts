import { createSupervisor } from 'mcp-supervisor';

const supervisor = createSupervisor({
  host: { name: 'my-agent', version: '1.0.0' },
  paths: { userConfig: 'examples/embedding.mcp.json' }, // absent: the user's own file
  approve: (question) => (question.kind === 'call' && question.server === 'everything' ? 'approve' : 'deny'),
});
try {
  const workspace = await supervisor.openWorkspace(process.cwd(), { trusted: true });
  await workspace.connectAll(); // a call would start its server by itself; a search wants them listed
  const statuses = workspace.status$.subscribe(({ servers }) => {
    for (const { id, phase, tools } of servers) console.log(id, phase, tools.count);
  });

  console.log((await workspace.gateway.run({ action: 'search', query: 'echo' })).content);
  const result = await workspace.call('mcp__everything__echo', { message: 'hello' }, { timeoutMs: 30_000 });
  console.log(result['content']);
  statuses.unsubscribe();
} finally {
  await supervisor.close(); // settles when no process, timer or listener is left
}
