import { parentPort, workerData } from 'node:worker_threads';
import { scenarioText } from './kit/scenario.js';
import { inOneLine, runSchedule } from './kit/schedule.js';
import { shrink } from './kit/shrink.js';

/** What a worker is to do: every `step`th seed from `from` to before `to`. */
export interface Share {
  readonly from: number;
  readonly to: number;
  readonly step: number;
}

/** A schedule that broke something, told at once. */
export interface Failing {
  readonly seed: number;
  readonly line: string;
  readonly scenario: string;
}

/** Sums over its schedules, told at the end. */
export interface Tally {
  readonly schedules: number;
  readonly events: number;
  readonly fewestEvents: number;
}

/** Failures that are shrunk; the others are only told, as they are mostly the same one. */
const SHRUNK_MAX = 3;
/** Most errors here are answers to calls, thousands of them, and nobody reads where they were made. */
const STACK_LINES = 0;
const STACK_LINES_OF_A_FAILURE = 10;

async function work({ from, to, step }: Share, tell: (news: Failing | Tally) => void): Promise<void> {
  let [schedules, events, failures] = [0, 0, 0];
  let fewestEvents = Number.POSITIVE_INFINITY;
  for (let seed = from; seed < to; seed += step) {
    Error.stackTraceLimit = STACK_LINES;
    let result = await runSchedule({ seed });
    schedules += 1;
    events += result.events;
    if (result.violation === null) {
      fewestEvents = Math.min(fewestEvents, result.events);
      continue;
    }
    failures += 1;
    Error.stackTraceLimit = STACK_LINES_OF_A_FAILURE;
    result = await runSchedule({ seed });
    const small = failures <= SHRUNK_MAX ? await shrink(result) : result;
    tell({ seed, line: inOneLine(result), scenario: scenarioText(inOneLine(small), small) });
  }
  tell({ schedules, events, fewestEvents });
}

const port = parentPort;
if (port !== null) await work(workerData as Share, (news) => port.postMessage(news));
