import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSupervisor } from '../index.js';
import { echoServer } from './paths.js';

/** This product with `servers` echo servers `echo0`…, all connected and listed; rejects when one of them is not ready. */
export async function openOurs(servers: number) {
  const home = await mkdtemp(join(tmpdir(), 'bench-'));
  const userConfig = join(home, 'mcp.json');
  await writeFile(userConfig, JSON.stringify(configuration(servers)));
  const supervisor = createSupervisor({
    host: { name: 'bench', version: '1.0.0' },
    discover: false,
    paths: { userConfig, stateDir: join(home, 'state') },
  });
  const close = async () => {
    await supervisor.close();
    await rm(home, { recursive: true, force: true });
  };
  const workspace = await supervisor.openWorkspace(home, { trusted: true });
  const status = await workspace.connectAll();
  const ready = status.servers.filter(({ phase }) => phase === 'ready').length;
  if (ready !== servers) {
    await close();
    throw new Error(`${ready} of ${servers} servers are ready: ${JSON.stringify(status)}`);
  }
  return { call: workspace.call.bind(workspace), close };
}

function configuration(servers: number): object {
  const names = Array.from({ length: servers }, (_, at) => `echo${at}`);
  return {
    limits: { servers: Math.max(servers, 32), live: Math.max(servers, 16) },
    toolPolicies: Object.fromEntries(names.map((name) => [name, 'allow'])),
    mcpServers: Object.fromEntries(
      names.map((name) => [name, { command: process.execPath, args: [echoServer], lifecycle: 'lazy' }]),
    ),
  };
}
