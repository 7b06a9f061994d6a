import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reloadRun } from '../properties/chaos/reload.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const server = join(import.meta.dirname, 'fixtures/echo-server.mjs');

test('forty reloads under load, half of them bad, restart no server that stayed and fail no call to one (B066, B181)', async () => {
  const home = await temporaryDirectory('mcp-sup-chaos-');
  const { line, faults } = await reloadRun({ home, times: 40, server });
  expect(faults).toEqual([]);
  expect(line).toMatch(
    /^reloads: 40, taken: 20, rejected: 20, restarts of unchanged servers: 0, calls: \d+, calls failed: 0, processes left: 0$/,
  );
});

test('a server that does change would be noticed', async () => {
  const home = await temporaryDirectory('mcp-sup-chaos-');
  const { line, faults } = await reloadRun({ home, times: 24, server, steady: ['one', 'changing'] });
  expect(faults.join('\n')).toMatch(/reload \d+, .*: "changing" was pid \d+, generation 1/);
  expect(line).not.toContain('restarts of unchanged servers: 0');
});
