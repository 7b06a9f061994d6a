import type { ServerId } from '../machines/vocabulary.js';
import type { Ask, Progress } from './ports.js';

export interface ToolListing {
  /** `mcp__<server>__<tool>`, the name to call. */
  readonly name: string;
  readonly server: ServerId;
  /** What the server calls it. */
  readonly tool: string;
  readonly description: string;
  readonly inputSchema: { readonly [key: string]: unknown };
  /** False for a tool over the limit. */
  readonly callable: boolean;
  /** Not seen in the server's last complete listing, or the server is not running. */
  readonly cached: boolean;
}

/** One tool in front of all servers; its definition is byte-identical for a version, whatever the configuration. */
export interface Gateway {
  readonly tool: {
    readonly name: string;
    readonly description: string;
    readonly inputSchema: { readonly [key: string]: unknown };
  };
  /** For the host's system prompt; constant. */
  readonly instructions: string;
  /** Never rejects: a failure is a result a model can read. */
  run(
    request: unknown,
    options?: {
      readonly session?: string;
      readonly signal?: AbortSignal;
      readonly byPerson?: boolean;
      readonly onProgress?: (progress: Progress) => void;
      readonly approve?: Ask;
    },
  ): Promise<GatewayResult>;
  /** The tools that a client may be shown under their own names: callable, and denied by no policy. In the order of names. */
  tools(): readonly ToolListing[];
  /** Calls back after anything that `tools()` depends on may have changed; what it returns ends that. */
  watchTools(changed: () => void): () => void;
}

export interface GatewayResult {
  readonly content: readonly { readonly type: string; readonly [key: string]: unknown }[];
  readonly structuredContent?: { readonly [key: string]: unknown };
  readonly isError?: boolean;
}
