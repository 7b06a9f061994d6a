import { defaultListLimits } from './pagination-machine.js';
import { defaultRestartPolicy } from './restart-policy.js';
import type { ServerOptions } from './server-context.js';

/** What holds where a configuration says nothing else. */
export const defaultServerOptions: ServerOptions = {
  restart: defaultRestartPolicy,
  ...defaultListLimits,
  pageTimeoutMs: 30_000,
  approvalTimeoutMs: 300_000,
  listDebounceMs: 1_000,
  probeEveryMs: 30_000,
  probeTimeoutMs: 10_000,
};
