/** What one HTTP door takes before it refuses. Tests set other ones. */
export interface HttpLimits {
  /** Sockets open at once. */
  readonly connectionsMax: number;
  readonly headerBytesMax: number;
  /** Of one message; arguments longer than that belong into a file. */
  readonly bodyBytesMax: number;
  /** From the first byte of a request to its last header. */
  readonly headersTimeoutMs: number;
  /** From the first byte of a request to its last one; answers may take as long as they like. */
  readonly requestTimeoutMs: number;
  /** Of a connection between two requests. */
  readonly keepAliveTimeoutMs: number;
  /** Sessions of the older era. */
  readonly sessionsMax: number;
  /** A session that nobody uses, and that has no stream open, is dropped after so long. */
  readonly sessionIdleMs: number;
  /** Calls open at once in one session. */
  readonly sessionCallsMax: number;
  /** Calls open at once of all clients of the newer era, which has no sessions. */
  readonly callsMax: number;
  /** Open `subscriptions/listen` streams. */
  readonly subscriptionsMax: number;
}

export const HTTP_LIMITS: HttpLimits = {
  connectionsMax: 256,
  headerBytesMax: 16_384,
  bodyBytesMax: 4 * 1_024 * 1_024,
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 10_000,
  keepAliveTimeoutMs: 5_000,
  sessionsMax: 64,
  sessionIdleMs: 30 * 60_000,
  sessionCallsMax: 64,
  callsMax: 256,
  subscriptionsMax: 64,
};
