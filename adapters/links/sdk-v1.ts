import { loadSdkV1, SdkV1Session } from './sdk-v1-session.js';
import type { Engine } from './session.js';

/**
 * The older line of the SDK, `@modelcontextprotocol/sdk` 1.x, for hosts that must stay on it; an optional peer, loaded with
 * the first server. It speaks revisions up to 2025-11-25: a server of the current era alone fails its handshake with
 * `ERA_NEGOTIATION_FAILED`, and without the package every server fails with `ENGINE_MISSING`, which says what to install.
 */
export const sdkV1Engine: Engine = {
  name: 'sdk',
  preload: () => void loadSdkV1().catch(() => undefined),
  open: (deps) => new SdkV1Session(deps),
};
