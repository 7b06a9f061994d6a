import type { createSupervisor } from '../../index.js';

/** The library as the command sees it: types only, so that nothing of it is loaded before a command needs it. */

export type {
  CallResult,
  Explanation,
  GatewayResult,
  ServerStatus,
  Supervisor,
  SupervisorPaths,
  TestReport,
  Workspace,
  WorkspaceStatus,
} from '../../index.js';

export type CreateSupervisor = typeof createSupervisor;
