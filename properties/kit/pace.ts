import { type ActName, actNames, type Choice, NUMBERS_BELOW } from './acts.js';
import type { Random } from './random.js';
import type { Pace } from './setup.js';

/** How often each is chosen, of about a hundred. */
const ROUGH: Readonly<Record<ActName, number>> = {
  deliver: 40,
  tick: 12,
  call: 26,
  use: 6,
  progress: 1,
  repeat: 0.5,
  abort: 1.5,
  endSession: 0.3,
  answer: 4,
  answerByNonce: 1,
  gateway: 0.5,
  die: 0.8,
  announce: 1.2,
  stderr: 0.5,
  endStreams: 0.5,
  ghost: 1.5,
  restart: 0.2,
  test: 0.2,
  enable: 0.8,
  disable: 0.2,
  remove: 0.05,
  look: 0.3,
  trust: 0.25,
  remote: 0.25,
  edit: 0.7,
  contents: 0.3,
  edition: 0.15,
  reload: 0.3,
  connectAll: 0.5,
  elsewhere: 0.2,
  disk: 0.2,
  jump: 0.2,
  open: 1.5,
  close: 0.12,
};

/** What there is more of when hosts are busy. */
const TRAFFIC: Readonly<Partial<Record<ActName, number>>> = {
  deliver: 46,
  use: 36,
  progress: 6,
  repeat: 2,
  stderr: 3,
  tick: 3,
  abort: 1,
  call: 2,
  answer: 2,
  open: 1.5,
};

/** How much slower everything else is then. */
const SLOWER = 0.15;

const weightOf = (pace: Pace, name: ActName): number =>
  pace === 'rough' ? ROUGH[name] : (TRAFFIC[name] ?? ROUGH[name] * SLOWER);

const TOTALS: Readonly<Record<Pace, number>> = { rough: totalOf('rough'), busy: totalOf('busy') };

/** The next thing that happens at this pace. */
export function drawChoice(random: Random, pace: Pace = 'rough'): Choice {
  let left = random.next() * TOTALS[pace];
  const act = actNames.find((name) => (left -= weightOf(pace, name)) <= 0) ?? 'deliver';
  return { act, x: random.below(NUMBERS_BELOW), y: random.below(NUMBERS_BELOW) };
}

function totalOf(pace: Pace): number {
  return actNames.reduce((sum, name) => sum + weightOf(pace, name), 0);
}
