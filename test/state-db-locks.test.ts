import { expect, onTestFinished, test, vi } from 'vitest';
import { coded, type OtherProcess, otherProcess, type StateKit, stateKit } from './support/state-kit.js';

/** Another process that holds the write lock of a state file already in use. */
async function lockedState(kind: 'IMMEDIATE' | 'EXCLUSIVE' = 'IMMEDIATE'): Promise<StateKit & { readonly holder: OtherProcess }> {
  const kit = await stateKit();
  expect(await otherProcess('state-user.mjs', [kit.dir, 'trust', '/repo']).line()).toBe('"done"');
  const holder = otherProcess('state-holder.mjs', [kit.file, kind]);
  expect(await holder.line()).toBe('held');
  return { ...kit, holder };
}

/** Counts turns of the event loop that a timer was given. */
function heartbeat(): { readonly beats: () => number } {
  let beats = 0;
  const timer = setInterval(() => {
    beats += 1;
  }, 1);
  onTestFinished(() => clearInterval(timer));
  return { beats: () => beats };
}

const lists = { savedAtMs: 1, ttlMs: null, fingerprint: null, lists: { tools: [{ key: 'a', definition: { name: 'a' } }] } };

test('a write that waits for the lock of another process holds up nothing, and is done once the lock is let go', async () => {
  const { open, holder } = await lockedState();
  const db = open();
  expect(await db.trusted('/repo')).toBe(true);
  const { beats } = heartbeat();
  const settled = vi.fn();
  const writes = Promise.all([db.setTrusted('/repo', false), db.setSwitch('a', true), db.saveMetadata('key', lists)]).finally(
    settled,
  );
  const before = beats();
  await vi.waitFor(() => expect(beats()).toBeGreaterThan(before + 50), { timeout: 20_000 });
  expect(settled).not.toHaveBeenCalled();
  holder.child.stdin.write('release\n');
  await writes;
  expect(await db.trusted('/repo')).toBe(false);
  expect(await db.metadata('key')).toEqual(lists);
});

test('reading goes on while another process holds the write lock', async () => {
  const { open } = await lockedState();
  const db = open();
  expect(await db.trusted('/repo')).toBe(true);
  expect(await db.switches()).toEqual(new Map());
  expect(await db.metadata('key')).toBeNull();
});

test.each(['IMMEDIATE', 'EXCLUSIVE'] as const)(
  'a lock (%s) that is never let go ends in a typed failure that says what to do, and the loop ran all the time',
  async (kind) => {
    const { open } = await lockedState(kind);
    const db = open({ busyTimeoutMs: 200 });
    const { beats } = heartbeat();
    await expect(db.setTrusted('/repo', false)).rejects.toEqual(
      expect.objectContaining({
        code: 'STORE_FAILED',
        retryable: true,
        hint: expect.stringContaining('another process') as string,
      }),
    );
    expect(beats()).toBeGreaterThan(5);
  },
);

test('a holder that is killed lets go, and nothing it had begun is there', async () => {
  const { open, holder } = await lockedState();
  const write = open().setSwitch('a', true);
  holder.child.kill('SIGKILL');
  await write;
  expect(await open().switches()).toEqual(new Map([['a', true]]));
});

test('close does not wait for a lock: what waits for it is refused', async () => {
  const { open } = await lockedState();
  const db = open();
  const write = db.setSwitch('a', true);
  const refused = expect(write).rejects.toEqual(coded('STORE_FAILED', 'locked'));
  await db.close();
  await refused;
});

test('writes that meet the lock keep their order', async () => {
  const { open, holder } = await lockedState();
  const db = open();
  const { beats } = heartbeat();
  const writes = Promise.all([true, false, true, false].map((trusted) => db.setTrusted('/repo', trusted)));
  await vi.waitFor(() => expect(beats()).toBeGreaterThan(10), { timeout: 20_000 });
  holder.child.stdin.write('release\n');
  await writes;
  expect(await db.trusted('/repo')).toBe(false);
});
