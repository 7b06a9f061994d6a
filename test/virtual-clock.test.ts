import { expect, test } from 'vitest';
import { VirtualClock } from './support/virtual-clock.js';

test('fires timers in the order they fall due, equal ones in the order they were set', () => {
  const clock = new VirtualClock();
  const fired: string[] = [];
  const note = (name: string) => () => fired.push(`${name}@${clock.now()}`);
  clock.setTimeout(note('late'), 20);
  clock.setTimeout(note('first'), 10);
  clock.setTimeout(note('second'), 10);
  clock.setTimeout(note('at once'), -5);
  clock.advance(19);
  expect(fired).toEqual(['at once@0', 'first@10', 'second@10']);
  expect([clock.now(), clock.pending, clock.nextMs]).toEqual([19, 1, 20]);
});

test('fires a chained timer inside the same advance, at its own time', () => {
  const clock = new VirtualClock();
  const times: number[] = [];
  clock.setTimeout(() => {
    times.push(clock.now());
    clock.setTimeout(() => times.push(clock.now()), 5);
  }, 10);
  clock.advance(100);
  expect(times).toEqual([10, 15]);
  expect(clock.nextMs).toBe(null);
});

test('does not fire a timer that was cleared, and forgives a handle it does not know', () => {
  const clock = new VirtualClock();
  const fired: string[] = [];
  const handle = clock.setTimeout(() => fired.push('cleared'), 1);
  clock.setTimeout(() => fired.push('kept'), 1);
  clock.clearTimeout(handle);
  clock.clearTimeout(handle);
  clock.clearTimeout('unknown');
  clock.advance(1);
  expect(fired).toEqual(['kept']);
});

test('moves the time of day with it', () => {
  const clock = new VirtualClock(1_000);
  clock.advance(5);
  expect(clock.epoch()).toBe(1_005);
});

test('lets promises run between two timers when asked to', async () => {
  const clock = new VirtualClock();
  const sleep = (ms: number) => new Promise<void>((resolve) => clock.setTimeout(resolve, ms));
  const times: number[] = [];
  const loop = async () => {
    for (let round = 0; round < 3; round += 1) {
      await sleep(10);
      times.push(clock.now());
    }
  };
  void loop();
  await clock.run(25);
  expect([...times, clock.now()]).toEqual([10, 20, 25]);
});
