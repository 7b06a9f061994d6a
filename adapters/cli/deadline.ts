import { supervisorError } from '../../actors/errors.js';

/** A stopwatch for `--timeout`: it stands still while a person is asked. */
export interface Deadline {
  /** Aborted with `NOT_READY` when the time is over. */
  readonly signal: AbortSignal;
  /** At least 1; undefined without `--timeout`. */
  remainingMs(): number | undefined;
  pause(): void;
  resume(): void;
  /** Stops the clock for good. */
  end(): void;
}

/** Starts running at once; without a limit it never fires. */
export function createDeadline(timeoutMs: number | undefined): Deadline {
  const abort = new AbortController();
  let leftMs = timeoutMs;
  let startedAtMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let hasEnded = false;

  const fire = (): void => abort.abort(supervisorError('NOT_READY', `It was not done within --timeout ${timeoutMs ?? 0} ms.`));
  const resume = (): void => {
    if (leftMs === undefined || timer !== undefined || hasEnded) return;
    startedAtMs = performance.now();
    timer = setTimeout(fire, leftMs);
  };
  const pause = (): void => {
    if (leftMs === undefined || timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    leftMs = Math.max(1, leftMs - (performance.now() - startedAtMs));
  };
  resume();
  return {
    signal: abort.signal,
    remainingMs: () => {
      if (leftMs === undefined) return undefined;
      const passedMs = timer === undefined ? 0 : performance.now() - startedAtMs;
      return Math.max(1, Math.ceil(leftMs - passedMs));
    },
    pause,
    resume,
    end: () => {
      pause();
      hasEnded = true;
    },
  };
}
