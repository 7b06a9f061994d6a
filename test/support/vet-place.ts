import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ServerDefinition, Vetted } from '../../actors/ports.js';
import { createNodeDigest } from '../../adapters/node-digest.js';
import { createVet, type VetOptions } from '../../adapters/vet/vet.js';
import { server } from './simulated-ports.js';
import { temporaryDirectory } from './temporary-directory.js';

/** An executable file, and the directories it needs. */
export async function executable(path: string, content: string | Uint8Array = '#!/bin/sh\nexec cat\n'): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  await chmod(path, 0o755);
  return path;
}

/** A workspace beside a directory of programs, which is the whole PATH and holds `tool`. */
export async function vetPlace(options: Partial<VetOptions> = {}) {
  const home = await temporaryDirectory('vet-');
  const root = join(home, 'workspace');
  const bin = join(home, 'bin');
  await mkdir(root);
  const tool = await executable(join(bin, 'tool'));
  const vet = createVet({ env: { PATH: bin }, digest: createNodeDigest(), marker: 'mark', ...options });
  const run = (over: Partial<ServerDefinition> = {}): Promise<Vetted> =>
    vet.vet(server('x', { layer: 'workspace', command: 'tool', file: join(root, '.mcp.json'), line: 3, ...over }), { root });
  return { home, root, bin, tool, vet, run };
}
