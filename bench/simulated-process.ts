import { createSupervisor } from '../actors/index.js';
import { scriptedPorts } from './scripted-ports.js';
import { collectGarbage } from './stats.js';

/** A process with the product's own machines over scripted links, that measures itself: `simulated-process.js WORKSPACES SERVERS`. */
const [workspaces, servers] = process.argv.slice(2).map(Number) as [number, number];

const supervisor = createSupervisor({ ports: scriptedPorts(servers), discover: false });
collectGarbage();
const heapBefore = process.memoryUsage().heapUsed;
let ready = 0;
const startedAt = performance.now();
for (let at = 0; at < workspaces; at += 1) {
  const workspace = await supervisor.openWorkspace(`/simulated/${at}`, { trusted: true });
  const status = await workspace.connectAll();
  ready += status.servers.filter(({ phase }) => phase === 'ready').length;
}
if (ready !== workspaces * servers) throw new Error(`${ready} of ${workspaces * servers} simulated servers are ready`);
const readyMs = performance.now() - startedAt;
collectGarbage();
const bytesPerServer = (process.memoryUsage().heapUsed - heapBefore) / ready;
const stoppedFrom = performance.now();
await supervisor.close();
console.log(JSON.stringify({ bytesPerServer, readyMs, stopMs: performance.now() - stoppedFrom }));
