import { defaultListLimits } from './list-walk.js';
import { defaultRestartPolicy, type RestartPolicy } from './restart-policy.js';

/** Numbers that are the same for every server of a workspace. */
export interface ServerOptions {
  readonly restart: RestartPolicy;
  readonly pages: number;
  readonly items: number;
  readonly pageTimeoutMs: number;
  /** `null`: nobody can be asked, a question stays open for as long as it takes. */
  readonly approvalTimeoutMs: number | null;
  readonly listDebounceMs: number;
  readonly probeEveryMs: number;
  readonly probeTimeoutMs: number;
}

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
