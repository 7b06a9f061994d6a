import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of our own package.json, seen from the sources as well as from what was built, and the version in it. */
export function packageRoot(): { readonly root: string; readonly version: string } {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const version = versionIn(folder);
    if (version !== null) return { root: folder, version };
    if (dirname(folder) === folder) throw new Error('bug: no package.json above the command');
  }
}

function versionIn(folder: string): string | null {
  try {
    const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      readonly [key: string]: unknown;
    };
    return name === 'mcp-supervisor' && typeof version === 'string' ? version : null;
  } catch {
    return null;
  }
}
