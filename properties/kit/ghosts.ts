import { failure } from '../../machines/vocabulary.js';
import type { SimulatedHost } from './host.js';

/**
 * News of a generation that is gone: its link speaks although it was closed, in every way a link can. Whatever stands now has to
 * stand as before.
 */
export function ghost({ world, rooms }: SimulatedHost, x: number, y: number): string | null {
  const { closed } = world.ledger;
  const connection = closed[x % Math.max(1, closed.length)];
  if (connection === undefined) return null;
  const { events, facts, replies } = connection;
  const runtime = rooms.find(({ root }) => root === facts.root)?.runtime ?? null;
  const stands = (): string => {
    if (runtime === null) return '';
    const snapshot = runtime.serverRef(facts.key)?.getSnapshot();
    if (snapshot === undefined) return 'none';
    const { generation, ticket, attempt, deaths, pid, wroteStderr, stale, busy } = snapshot.context;
    return JSON.stringify([snapshot.value, generation, ticket, attempt, deaths, pid, wroteStderr, stale, busy]);
  };
  const before = stands();
  const open = world.ledger.open.size;
  const problem = failure('LINK_LOST', 'a ghost');
  if (y % 5 === 0) events.opened({ pid: 1 });
  else if (y % 5 === 1) events.lost(problem, true);
  else if (y % 5 === 2) events.listChanged('tools');
  else if (y % 5 === 3) events.stderr();
  else for (const reply of replies) reply.result({ content: [], n: -1 });
  world.checks.holds('old-news', stands() === before && world.ledger.open.size === open, () => {
    return `${connection.name} is gone and was heard: ${before} became ${stands()}`;
  });
  return `${connection.name} speaks after its end`;
}
