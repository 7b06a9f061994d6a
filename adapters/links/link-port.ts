import type { ClockPort, LinkPort } from '../../actors/ports.js';
import type { HttpPort, ProcessPort } from '../../actors/wire-ports.js';
import { LinkCore } from './link-core.js';
import { EraMemory } from './negotiation.js';
import { clientEngine } from './sdk-session.js';
import type { Engine } from './session.js';
import { SseWire } from './sse-wire.js';
import { StdioWire } from './stdio-wire.js';
import { StreamableHttpWire } from './streamable-http-wire.js';

export interface LinkPortDeps {
  readonly process: ProcessPort;
  readonly http: HttpPort;
  readonly clock: ClockPort;
  /** Shared by the ports of a process; absent: one of its own. */
  readonly eras?: EraMemory;
  /** Absent: the current line of the SDK. */
  readonly engine?: Engine;
}

/**
 * Opens links to servers over every transport, in either era: child processes over their pipes, endpoints over Streamable
 * HTTP, and over the older HTTP with SSE where the configuration says so. Remembers by config hash which are of the older era.
 */
export function createLinkPort(deps: LinkPortDeps): LinkPort {
  const { process, http, clock, engine = clientEngine, eras = new EraMemory() } = deps;
  return {
    open(launch, events, options) {
      return new LinkCore({ clock, eras, engine }, events, options, (wireEvents) => {
        if (launch.transport === 'stdio') return new StdioWire({ process, clock }, launch, wireEvents);
        if (launch.transport === 'sse') return new SseWire({ http, clock }, launch, wireEvents);
        return new StreamableHttpWire({ http, clock }, launch, wireEvents);
      });
    },
  };
}
