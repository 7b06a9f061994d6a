import type { ServerId } from '../machines/vocabulary.js';
import type { WorkspaceStatus } from './api.js';

type List = 'tools' | 'resources' | 'prompts';

interface StatusHost {
  status(): WorkspaceStatus;
}

/** Servers on their way to a first listing: nothing of theirs is known yet, and it will be without anybody's doing. */
export function beingListed(host: StatusHost, list: List): readonly ServerId[] {
  return host
    .status()
    .servers.filter((server) => server[list].state === 'unknown' && (server.phase === 'connecting' || server.phase === 'backoff'))
    .map(({ id }) => id);
}

/** A read waits for nobody, so it says what it could not know; empty when that is nothing. */
export function notListed(host: StatusHost, list: List, server: ServerId | undefined) {
  const ids = beingListed(host, list).filter((id) => server === undefined || id === server);
  if (ids.length === 0) return { note: [], data: {} };
  return { note: [`Still being listed, so ask again in a moment: ${ids.join(', ')}`], data: { stillListing: ids } };
}
