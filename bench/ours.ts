import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSupervisor, type WorkspaceStatus } from '../index.js';
import { echoServer } from './paths.js';

/** One entry of a user file. */
type Entry = Readonly<Record<string, unknown>>;

const stdioEcho = (...args: string[]): Entry => ({ command: process.execPath, args: [echoServer, ...args], lifecycle: 'lazy' });

/** So many echo servers over stdio. */
export const stdioEchoes = (servers: number): readonly Entry[] => Array.from({ length: servers }, () => stdioEcho());

/** This product with these servers as `echo0`…, all connected and listed; rejects when one of them is not ready. */
export async function openOurs(servers: readonly Entry[]) {
  const { workspace, close } = await openWorkspace(servers, 0);
  const status = await workspace.connectAll();
  const ready = readyIn(status);
  if (ready !== servers.length) {
    await close();
    throw new Error(`${ready} of ${servers.length} servers are ready: ${JSON.stringify(status)}`);
  }
  return { call: workspace.call.bind(workspace), close };
}

/** The same beside `hung` servers that never answer the handshake: settles when the others can be used. */
export async function usableBesideHung(servers: number, hung: number) {
  const { workspace, close } = await openWorkspace(stdioEchoes(servers), hung);
  const usable = new Promise<void>((resolve, reject) => {
    const watching = workspace.status$.subscribe({
      next: (status) => {
        if (readyIn(status) < servers) return;
        resolve();
        queueMicrotask(() => watching.unsubscribe());
      },
      error: reject,
      complete: () => reject(new Error('closed before its servers were ready')),
    });
  });
  // It waits for the hung ones as well; the close ends it.
  void workspace.connectAll().catch(() => undefined);
  await usable;
  return { close };
}

const readyIn = ({ servers }: WorkspaceStatus): number => servers.filter(({ phase }) => phase === 'ready').length;

async function openWorkspace(servers: readonly Entry[], hung: number) {
  const home = await mkdtemp(join(tmpdir(), 'bench-'));
  const userConfig = join(home, 'mcp.json');
  await writeFile(userConfig, JSON.stringify(configuration(servers, hung)));
  const supervisor = createSupervisor({
    host: { name: 'bench', version: '1.0.0' },
    discover: false,
    paths: { userConfig, stateDir: join(home, 'state') },
  });
  const close = async () => {
    await supervisor.close();
    await rm(home, { recursive: true, force: true });
  };
  return { workspace: await supervisor.openWorkspace(home, { trusted: true }), close };
}

function configuration(servers: readonly Entry[], hung: number): object {
  const names = servers.map((_, at) => `echo${at}`);
  const all = servers.length + hung;
  return {
    limits: { servers: Math.max(all, 32), live: Math.max(all, 16) },
    toolPolicies: Object.fromEntries(names.map((name) => [name, 'allow'])),
    mcpServers: Object.fromEntries([
      // First, so that whatever waits its turn would wait behind it.
      ...Array.from({ length: hung }, (_, at) => [`a-hung${at}`, stdioEcho('hang')] as const),
      ...servers.map((server, at) => [`echo${at}`, server] as const),
    ]),
  };
}
