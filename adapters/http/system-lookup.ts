import { lookup } from 'node:dns/promises';

/** Every address a name has, in the order of the system. Rejects when it has none. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/** As every program of this machine resolves names, its hosts file included. */
export const systemLookup: Lookup = async (hostname) => {
  const answers = await lookup(hostname, { all: true, verbatim: true });
  return answers.map(({ address }) => address);
};
