import { SupervisorError } from '../../actors/errors.js';

export interface Outcome {
  /** `open`, `ok`, the code it failed with, or `untyped …` for anything but the one error class. */
  state: string;
  error: SupervisorError | null;
}

/** Follows a promise from the moment it is made, so that none is ever unhandled and its end can be read at any time. */
export function outcomeOf(promise: Promise<unknown>): Outcome {
  const outcome: Outcome = { state: 'open', error: null };
  promise.then(
    () => {
      outcome.state = 'ok';
    },
    (error: unknown) => {
      if (SupervisorError.is(error)) {
        outcome.state = error.code;
        outcome.error = error;
      } else outcome.state = `untyped ${String(error)}`;
    },
  );
  return outcome;
}
