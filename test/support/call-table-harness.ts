import { CallTable, type CallTableOptions, type RequestOptions } from '../../actors/call-table.js';
import { SupervisorError } from '../../actors/errors.js';
import { SimulatedLink, wellBehaved } from './simulated-link.js';
import { VirtualClock } from './virtual-clock.js';

const silent = { opened: () => undefined, lost: () => undefined, listChanged: () => undefined, stderr: () => undefined };
const launch = { transport: 'stdio', command: 'files', args: [], cwd: '/', env: {} } as const;

/** A table on a link that answers only when the test says so, with the story of every call. */
export function startTable(over: Partial<CallTableOptions> = {}) {
  const clock = new VirtualClock();
  const options = { clientInfo: { name: 'test', version: '1' }, configHash: 'hash' };
  const link = new SimulatedLink(1, launch, silent, options, { ...wellBehaved, opens: false });
  const edges: boolean[] = [];
  const told: string[] = [];
  const late: string[] = [];
  const table = new CallTable(link, clock, {
    server: 'files',
    inFlightMax: 64,
    waitingMax: 1_024,
    hardDeadlineMs: 600_000,
    onEdge: (isBusy) => edges.push(isBusy),
    onCancelled: (id) => told.push(id),
    onLateAnswer: (id, answer) => late.push(`${id} ${answer}`),
    ...over,
  });
  /** Every settling of every call, in order: a call that is settled twice stands there twice. */
  const ends: string[] = [];
  const call = (name: string, own: Partial<RequestOptions> = {}): void => {
    table.request('tools/call', { name }, { timeoutMs: 30_000, ...own }).then(
      () => ends.push(`${name} ok`),
      (error: unknown) => ends.push(`${name} ${SupervisorError.is(error) ? error.code : 'untyped'}`),
    );
  };
  const names = (): unknown[] => link.sent.map(({ params }) => (params as { name: string }).name);
  const idOf = (name: string): string => link.sent.find(({ params }) => (params as { name: string }).name === name)?.id ?? '';
  const settle = (): Promise<void> => clock.run(0);
  return { clock, link, table, edges, told, late, ends, call, names, idOf, settle };
}
