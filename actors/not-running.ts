import type { ServerStatus } from './api.js';

/** What a status says of a server of which there is no life to tell of: it never started, or its actor is gone. */
export const NOT_RUNNING = {
  fingerprint: null,
  generation: 0,
  pid: null,
  era: null,
  protocolVersion: null,
  serverInfo: null,
  stage: null,
  retryAtMs: null,
  restarts: 0,
  callsInFlight: 0,
  cancellations: { confirmed: 0, lateAnswer: 0, unconfirmed: 0 },
  lastClose: null,
} as const satisfies Partial<ServerStatus>;
