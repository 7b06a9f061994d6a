import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run } from '../adapters/cli/run.js';
import { createSupervisor, verifyAudit } from '../index.js';
import { realWorkspace, untilReady } from './support/real-workspace.js';
import { temporaryDirectory } from './support/temporary-directory.js';
import { fakeTerminal } from './support/terminal.js';

async function audit(stateDir: string, ...flags: string[]) {
  const terminal = fakeTerminal(createSupervisor, { tty: false });
  const code = await run(['audit', '--state-dir', stateDir, ...flags], terminal.io);
  return { code, out: terminal.out(), err: terminal.err() };
}

describe('the command audit', () => {
  test('says that there is nothing where nothing was recorded, and makes nothing', async () => {
    const dir = await temporaryDirectory('cli-audit-');
    expect(await audit(join(dir, 'state'))).toEqual({ code: 0, out: '0 records in 0 logs: as it was written\n', err: '' });
    expect(await readdir(dir)).toEqual([]);
  });

  test('shows what a real server was started and called for, and names a line that was changed (S155)', async () => {
    await using here = await realWorkspace();
    const stateDir = join(here.home, 'state');
    const entry = here.published('server-everything', 'stdio');
    const workspace = await here.open({ user: { mcpServers: { everything: entry } } });
    await untilReady(workspace, 'everything');
    await workspace.call('mcp__everything__echo', { message: 'SECRET' });
    await here.supervisor.close();
    const shown = await audit(stateDir);
    expect(shown).toMatchObject({ code: 0, err: '' });
    expect(shown.out).toMatch(/ start server=everything layer=user transport=stdio generation=1 /);
    expect(shown.out).toMatch(/ call server=everything layer=user tool=mcp__everything__echo .*verdict=allow /);
    expect(shown.out).toMatch(/4 records in 1 logs: as it was written\n$/);
    expect(shown.out).not.toContain('SECRET');
    expect((await verifyAudit({ stateDir })).problems).toEqual([]);

    const [name = ''] = await readdir(join(stateDir, 'audit'));
    const file = join(stateDir, 'audit', name);
    await writeFile(file, (await readFile(file, 'utf8')).replace('"allow"', '"deny"'));
    const changed = await audit(stateDir);
    expect([changed.code, changed.err]).toEqual([1, `${name}:3: it is not as it was written\n`]);
    expect(changed.out).toMatch(/3 records in 1 logs: NOT as it was written\n$/);
    const json = await audit(stateDir, '--json');
    expect([json.code, JSON.parse(json.out)]).toMatchObject([1, { ok: false, problems: [{ log: name, line: 3 }] }]);
  });

  test('shows an approval that is remembered, which a real file lists from then on and a later run goes by', async () => {
    await using here = await realWorkspace();
    const stateDir = join(here.home, 'state');
    const entry = { ...here.published('server-everything', 'stdio'), approveTools: [] };
    let asked = 0;
    const approve = (): unknown => {
      asked += 1;
      return { decision: 'approve', remember: true };
    };
    const workspace = await here.open({
      user: { mcpServers: { everything: entry } },
      workspace: { trusted: true },
      supervisor: { approve },
    });
    await untilReady(workspace, 'everything');
    await workspace.call('mcp__everything__echo', { message: 'one' });
    await here.supervisor.close();
    const file = join(here.root, '.mcp-supervisor', 'permissions.local.json');
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ allowMcpTools: ['mcp__everything__echo'] });
    const again = await here.open({ workspace: { trusted: true }, supervisor: { approve } });
    await again.call('mcp__everything__echo', { message: 'two' });
    expect(asked).toBe(1);
    await writeFile(file, '{}');
    await again.reload();
    await again.call('mcp__everything__echo', { message: 'three' });
    expect(asked).toBe(2);
    await here.supervisor.close();
    expect((await audit(stateDir)).out).toMatch(/ grant tool=mcp__everything__echo definition=[0-9a-f]{12} kept=true\n/);
  });
});
