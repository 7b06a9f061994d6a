import { appendFile, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { openTerminal, type Typist } from './support/pseudo-terminal.js';
import { findMarked } from './support/stdio-harness.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const PROMPT = '\n$ ';
const FINGERPRINT = /fingerprint {2}([0-9a-f]{64})/;

interface Clone {
  readonly screen: Typist;
  readonly file: string;
  readonly script: string;
  /** Of the project's server, alive. */
  readonly pids: () => readonly number[];
}

/** What `git clone` leaves: a project with an `.mcp.json` and the script that it starts, on a machine that never saw it. */
async function clone(): Promise<Clone> {
  const home = await temporaryDirectory('mcp-sup-person-');
  const project = join(home, 'project');
  await mkdir(project);
  const script = join(project, 'server.mjs');
  await copyFile(join(import.meta.dirname, 'fixtures/echo-server.mjs'), script);
  const file = join(project, '.mcp.json');
  const entry = { command: 'node', args: ['server.mjs', `--of=${home}`, '--level=1'] };
  await writeFile(file, JSON.stringify({ mcpServers: { notes: entry } }, null, 2));
  return { screen: await openTerminal(home, project), file, script, pids: () => findMarked(`--of=${home}`).alive };
}

const fingerprintOn = (card: string): string => FINGERPRINT.exec(card)?.[1] ?? 'none on the card';

async function edit(path: string, from: string, to: string): Promise<void> {
  const text = await readFile(path, 'utf8');
  expect(text).toContain(from);
  await writeFile(path, text.replace(from, to));
}

// Every command that is typed is a process of its own.
describe('a person who has cloned a project', { timeout: 300_000 }, () => {
  test('is told, trusts, switches on, reads the card, says yes, and is asked again when anything on the card changes', async () => {
    const { screen, file, script, pids } = await clone();
    const { type, see } = screen;

    type('mcp-supervisor status');
    const untrusted = await see(PROMPT);
    expect(untrusted).toContain('not trusted');
    expect(untrusted).toMatch(/notes +workspace +idle .*untrusted/);
    expect(untrusted).toContain('mcp-supervisor trust');

    type('mcp-supervisor trust');
    expect(await see(PROMPT)).toContain('Trusting starts nothing by itself.');
    expect(pids()).toEqual([]);

    type('mcp-supervisor enable notes');
    const card = await see('Type y or approve: ');
    for (const line of ['"server.mjs"', '"--level=1"', 'cwd  ', `"${script}" sha256 `]) expect(card).toContain(line);
    expect(pids()).toEqual([]);
    type('y');
    expect(await see(PROMPT)).toContain('notes: ready, 3 tools');
    expect(pids()).toEqual([]);

    await edit(file, '--level=1', '--level=2');
    type('mcp-supervisor test notes');
    const other = await see('Type y or approve: ');
    expect(other).toContain('"--level=2"');
    type('n');
    expect(await see(PROMPT)).toContain('APPROVAL_DENIED');

    await edit(file, '--level=2', '--level=1');
    await appendFile(script, '// one line more\n');
    type('mcp-supervisor test notes');
    const rewritten = await see('Type y or approve: ');
    type('y');
    expect(await see(PROMPT)).toContain('ready');
    const fingerprints = [card, other, rewritten].map(fingerprintOn);
    expect(new Set(fingerprints).size).toBe(3);

    await edit(file, '"args"', '"args');
    type('mcp-supervisor status');
    expect(await see(PROMPT)).toMatch(/\.mcp\.json.*:5:\d+.*CONFIG_SYNTAX/);
    expect(pids()).toEqual([]);
  });

  test('sees a running server go on when its file breaks, and stop when what was approved is another thing', async () => {
    const { screen, file, script, pids } = await clone();
    const { type, see, interrupt } = screen;
    const one = () => vi.waitFor(() => expect(pids()).toHaveLength(1), { timeout: 30_000 }).then(() => pids()[0] ?? 0);
    type('mcp-supervisor trust');
    await see(PROMPT);
    type('mcp-supervisor enable notes');
    const approved = fingerprintOn(await see('Type y or approve: '));
    type('n');
    await see(PROMPT);
    type(`mcp-supervisor serve --http 0 --approve ${approved}`);
    await see('Serving MCP at ');
    const pid = await one();

    const whole = await readFile(file, 'utf8');
    await edit(file, '"args"', '"args');
    expect(await see('CONFIG_SYNTAX')).toMatch(/configuration: .*\.mcp\.json.*:5:\d+/);
    expect(pids()).toEqual([pid]);

    // Made whole again, with one argument changed: that was never approved.
    await writeFile(file, whole.replace('--level=1', '--level=2'));
    const asked = /server "notes" waits for an approval: .*--approve ([0-9a-f]{64})/;
    const changed = asked.exec(await see(asked))?.[1];
    expect(changed).not.toBe(approved);
    await vi.waitFor(() => expect(pids()).toEqual([]), { timeout: 30_000 });

    // Back to what was approved in this run: it runs again, unasked.
    await writeFile(file, whole);
    expect(await one()).not.toBe(pid);

    // The same entry, but its script was rewritten meanwhile: the next start is another question.
    await appendFile(script, '// one line more\n');
    await writeFile(file, whole.replace('--level=1', '--level=3'));
    await see(asked);
    await writeFile(file, whole);
    const rewritten = asked.exec(await see(asked))?.[1];
    expect(new Set([approved, changed, rewritten]).size).toBe(3);
    await vi.waitFor(() => expect(pids()).toEqual([]), { timeout: 30_000 });

    interrupt();
    await see('^C');
    await see('$ ');
  });
});
