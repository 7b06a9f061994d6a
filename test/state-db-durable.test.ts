import { type FileHandle, open as openFile } from 'node:fs/promises';
import { expect, test, vi } from 'vitest';
import { outcomeOf } from './support/outcome.js';
import { stateKit } from './support/state-kit.js';

/** Holds what asks the disk to keep a file until it is let go; the disk is asked all the same. */
async function heldDisk() {
  const file = await openFile(import.meta.filename);
  const methods = Object.getPrototypeOf(file) as { datasync: (this: FileHandle) => Promise<void> };
  await file.close();
  const { datasync } = methods;
  let letGo: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const asked = vi.spyOn(methods, 'datasync').mockImplementation(async function (this: FileHandle) {
    await held;
    await datasync.call(this);
  });
  return { asked, letGo: () => letGo() };
}

test('a decision is told as kept when the disk has it and not before; what can be found out again waits for no disk', async () => {
  const { open } = await stateKit();
  const db = open();
  await db.setTrusted('/repo', false);
  const disk = await heldDisk();
  const decided = outcomeOf(db.setTrusted('/repo', true));
  await vi.waitFor(() => expect(disk.asked).toHaveBeenCalledTimes(1));
  // It is there for whoever reads, another process included, and is yet to be said.
  expect(await open().trusted('/repo')).toBe(true);
  await db.saveEra('hash', 'modern');
  expect([decided.state, disk.asked.mock.calls.length]).toEqual(['open', 1]);
  disk.letGo();
  await vi.waitFor(() => expect(decided.state).toBe('ok'));
});
