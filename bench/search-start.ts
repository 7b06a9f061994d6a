import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFileConfig } from '../adapters/config/file-config.js';
import { createNodeDigest } from '../adapters/node-digest.js';
import { createStateDb } from '../adapters/state/state-db.js';
import { systemClock } from '../adapters/system-clock.js';
import { median } from './stats.js';

/** Milliseconds from the start of a process to its end: a search of what is kept, and `node -e 0`. */
export interface SearchStartRow {
  readonly tools: number;
  readonly nodeMs: number;
  readonly searchMs: number;
  /** Median of the ratios of neighbouring runs: what else the machine does counts on both sides. */
  readonly ratio: number;
}

const command = join(import.meta.dirname, '../adapters/cli/main.js');

/** Starts both in turn, `rounds` times. The server that is found in is stopped and its program does not exist. */
export async function benchSearchStart(tools: number, rounds: number): Promise<SearchStartRow> {
  const home = await mkdtemp(join(tmpdir(), 'mcp-sup-bench-'));
  try {
    const argv = await place(home, tools);
    const nodes: number[] = [];
    const searches: number[] = [];
    run(argv);
    for (let round = 0; round < rounds; round += 1) {
      nodes.push(run(['-e', '0']));
      searches.push(run(argv));
    }
    const ratio = median(searches.map((took, at) => took / (nodes[at] ?? Number.NaN)));
    return { tools, nodeMs: median(nodes), searchMs: median(searches), ratio };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

async function place(home: string, count: number): Promise<readonly string[]> {
  const root = join(home, 'workspace');
  const user = join(home, 'user.json');
  const stateDir = join(home, 'state');
  await mkdir(root);
  await writeFile(user, JSON.stringify({ mcpServers: { files: { command: join(home, 'gone') } } }));
  const digest = createNodeDigest();
  const config = createFileConfig({ userConfigFile: user, hostDir: '.none', env: {}, clock: systemClock, digest });
  const [hash] = (await config.read({ root })).flatMap(({ servers }) => servers.map(({ configHash }) => configHash));
  const tools = Array.from({ length: count }, (_, at) => ({
    key: `read_file_${at}`,
    definition: { name: `read_file_${at}`, description: `Reads file ${at} from a disk.`, inputSchema: { type: 'object' } },
  }));
  const db = createStateDb({ dir: stateDir, clock: systemClock });
  await db.saveMetadata(String(hash), { savedAtMs: Date.now(), ttlMs: null, fingerprint: null, lists: { tools } });
  await db.close();
  return [command, 'search', 'read file', '--json', '--workspace', root, '--user-config', user, '--state-dir', stateDir];
}

function run(argv: readonly string[]): number {
  const before = performance.now();
  const { status, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8' });
  const took = performance.now() - before;
  if (status !== 0) throw new Error(`${argv.join(' ')} ended with ${status}: ${stderr}`);
  return took;
}
