import type { Dispatcher } from 'undici';
import { supervisorError } from '../../actors/errors.js';
import { exchangeError } from './wire-error.js';

/** Answers of the kind 1xx before the real one, each of which starts the wait for headers anew. */
const INFORMATIONAL_MAX = 8;

export type Answer = Dispatcher.ResponseData;

/**
 * One request on the wire and the headers of its answer. Rejects with `CALL_CANCELLED` at once when its signal is aborted, be a
 * connection still on its way; an abort after the headers ends the body with the same error.
 */
export async function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.RequestOptions,
  place: string,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  const withdrawal = new AbortController();
  const withdrawn = new Promise<never>((_resolve, reject) => {
    withdrawal.signal.addEventListener('abort', () => reject(withdrawal.signal.reason as Error), { once: true });
  });
  withdrawn.catch(() => undefined);
  const withdraw = (): void => withdrawal.abort(supervisorError('CALL_CANCELLED', `The request to ${place} was withdrawn.`));
  const release = (): void => signal?.removeEventListener('abort', withdraw);
  if (signal?.aborted === true) withdraw();
  signal?.addEventListener('abort', withdraw, { once: true });
  let informational = 0;
  const onInfo = (): void => {
    informational += 1;
    if (informational <= INFORMATIONAL_MAX) return;
    withdrawal.abort(supervisorError('LINK_LOST', `${place} announces an answer again and again and sends none.`));
  };
  try {
    const sent = dispatcher.request({ ...request, signal: withdrawal.signal, onInfo });
    const answer = await Promise.race([sent, withdrawn]);
    answer.body.once('close', release);
    // A body nobody reads may break as well.
    answer.body.on('error', () => undefined);
    return answer;
  } catch (error) {
    release();
    throw exchangeError(error, place);
  }
}
