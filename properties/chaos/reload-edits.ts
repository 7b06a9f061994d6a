import { rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** One way to change the files of a workspace, and whether what comes of it is a configuration. */
export interface Edit {
  readonly what: string;
  readonly isGood: boolean;
  make(files: Files): Promise<void>;
}

/** The files of one workspace, and what the user's says when it is whole. */
export interface Files {
  readonly user: string;
  readonly project: string;
  /** The user's configuration in its `round`-th version: what is steady is the same in each. */
  config(round: number): { readonly mcpServers: Readonly<Record<string, object>> };
  readonly round: number;
}

const text = (files: Files): string => JSON.stringify(files.config(files.round), null, 2);
const half = (whole: string): string => whole.slice(0, Math.floor(whole.length * 0.4));
const mended = '{ "mcpServers": { "theirs": { "command": "nobody-starts-me" } } }';

/** As an editor saves: a new file in the place of the old one. */
async function replace(file: string, content: string | Uint8Array): Promise<void> {
  await writeFile(`${file}.new`, content);
  await rename(`${file}.new`, file);
}

async function replaceByLink(file: string, target: string): Promise<void> {
  await symlink(target, `${file}.new`);
  await rename(`${file}.new`, file);
}

const good = (what: string, make: Edit['make']): Edit => ({
  what,
  isGood: true,
  // Whatever the last edit broke is whole again.
  make: async (files) => {
    await replace(files.project, mended);
    await make(files);
  },
});
const bad = (what: string, make: Edit['make']): Edit => ({ what, isGood: false, make });

/** In turn: one that is good, one that is not. */
export const GOOD: readonly Edit[] = [
  good('another version of a server that changes', (files) => replace(files.user, text(files))),
  good('the same with a comment', (files) => replace(files.user, `// round ${files.round}\n${text(files)}`)),
  good('written in place', async (files) => {
    // Not through a link that leads nowhere.
    await replace(files.user, text(files));
    await writeFile(files.user, `${text(files)}\n`);
  }),
  good('in another order', (files) => {
    const { mcpServers } = files.config(files.round);
    return replace(files.user, JSON.stringify({ mcpServers: Object.fromEntries(Object.entries(mcpServers).reverse()) }));
  }),
  good('behind a link', async (files) => {
    await writeFile(`${files.user}.real`, text(files));
    await replaceByLink(files.user, `${files.user}.real`);
  }),
  good('with a mark before it', (files) => replace(files.user, `\ufeff${text(files)}`)),
];

export const BAD: readonly Edit[] = [
  bad('half written', (files) => writeFile(files.user, half(text(files)))),
  bad('no bytes', (files) => writeFile(files.user, '')),
  bad('a key twice', (files) => replace(files.user, text(files).replace('{', '{ "mcpServers": {},'))),
  bad('a wrong type', (files) => replace(files.user, text(files).replace('"args": [', '"args": {}, "args_": ['))),
  bad('UTF-16', (files) => replace(files.user, Buffer.from(`\ufeff${text(files)}`, 'utf16le'))),
  bad('a link to nowhere', (files) => replaceByLink(files.user, join(files.user, '../nowhere/mcp.json'))),
  bad('another layer, half written', (files) => replace(files.project, half(mended))),
  bad('another layer, a wrong id', (files) => replace(files.project, '{ "mcpServers": { "a b": { "command": "x" } } }')),
];
