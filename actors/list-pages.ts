import { verifyPage } from '../machines/items.js';
import type { ListPage, PageRequest } from '../machines/pagination-machine.js';
import { failure, type ListKind } from '../machines/vocabulary.js';
import { SupervisorError } from './errors.js';
import type { Link } from './ports.js';

const METHODS: Readonly<Record<ListKind, string>> = {
  tools: 'tools/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
  prompts: 'prompts/list',
};

/** Reads one page of one list and verifies its items. Not a call: it neither keeps a server busy nor takes a call's place. */
export async function fetchPage(link: Link, { kind, cursor }: PageRequest, signal: AbortSignal): Promise<ListPage> {
  const result = await requestOnce(link, METHODS[kind], cursor === undefined ? undefined : { cursor }, signal);
  const verdict = verifyPage(kind, result);
  if (!verdict.ok) throw new SupervisorError(verdict.failure);
  return verdict.page;
}

/** One request whose end is its answer or its abort signal; when the link is lost its actor is stopped, which aborts it. */
function requestOnce(link: Link, method: string, params: object | undefined, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let isSettled = false;
    const requestId = link.request(method, params, {
      result: (value) => {
        isSettled = true;
        resolve(value);
      },
      failed: (problem, cause) => {
        isSettled = true;
        reject(new SupervisorError(problem, cause === undefined ? undefined : { cause }));
      },
      progress: () => undefined,
    });
    const abort = (): void => {
      if (isSettled) return;
      isSettled = true;
      link.forget(requestId, () => undefined);
      link.unwatch(requestId);
      // Best effort: a server that cannot be told may as well send its answer.
      link.notifyCancelled(requestId, 'the list is no longer needed').catch(() => undefined);
      reject(new SupervisorError(failure('LIST_FAILED', `${method} was given up`)));
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}
