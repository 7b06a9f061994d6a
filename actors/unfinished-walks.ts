import { type ListPage, type ListWalk, startWalk, takePage, type WalkProgress } from '../machines/list-walk.js';
import type { PageRequest } from '../machines/pagination-machine.js';
import { failure } from '../machines/vocabulary.js';

/** The machine that walks has the caps; here only what it has read so far is remembered. */
const NO_LIMITS = { pages: Number.POSITIVE_INFINITY, items: Number.POSITIVE_INFINITY };

/**
 * The pages of every walk that is under way. A server that goes away in the middle takes the machine that walked with it;
 * what was verified by then is not lost with both.
 */
export class UnfinishedWalks {
  readonly #walks = new Map<string, WalkProgress>();

  took(request: PageRequest, page: ListPage): void {
    const key = keyOf(request);
    // The last page: the walk ends by itself, whole.
    if (page.nextCursor === undefined) {
      this.#walks.delete(key);
      return;
    }
    const before = request.cursor === undefined ? startWalk(request.kind) : this.#walks.get(key);
    if (before === undefined) return;
    const walk = takePage(before, page, NO_LIMITS);
    if (walk.isEnded) this.#walks.delete(key);
    else this.#walks.set(key, walk);
  }

  /** What was read before this page was given up; undefined when it was the first. Told once. */
  giveUp(request: PageRequest): ListWalk | undefined {
    const key = keyOf(request);
    const walk = request.cursor === undefined ? undefined : this.#walks.get(key);
    this.#walks.delete(key);
    if (walk === undefined) return undefined;
    const { kind, items, skipped, pages } = walk;
    const reason = failure('LIST_FAILED', `The server was gone before page ${pages + 1} of its ${kind} list`);
    return { kind, items, skipped, pages, state: 'failed', reason };
  }
}

/** A server has one live generation, and a walk begun anew takes the place of the one before. */
const keyOf = ({ source, kind }: PageRequest): string => `${source.key} ${kind}`;
