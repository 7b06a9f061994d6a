import { setTimeout as delay } from 'node:timers/promises';
import { connectSdk2 } from './legs.js';
import { openOurs, stdioEchoes } from './ours.js';
import { collectGarbage } from './stats.js';

/** A process that holds idle servers, says how much memory it resides in, and ends: `rss-process.js ours|sdk2 SERVERS`. */
const [who, count] = process.argv.slice(2);
const servers = Number(count);

const close = who === 'ours' ? (await openOurs(stdioEchoes(servers))).close : await holdSdk2();
// Long enough for what the start left behind to be given back.
await delay(1_000);
collectGarbage();
await delay(250);
console.log(JSON.stringify({ rssBytes: process.memoryUsage().rss }));
await close();

async function holdSdk2(): Promise<() => Promise<void>> {
  const clients = await Promise.all(Array.from({ length: servers }, connectSdk2));
  return async () => {
    await Promise.all(clients.map((client) => client.close()));
  };
}
