import type { Ask, Json, Progress } from '../../actors/ports.js';

/** What a served client may reach of a workspace: its gateway, and the end of its own session. */
export interface ServedWorkspace {
  readonly gateway: {
    readonly tool: ServedTool;
    readonly instructions: string;
    run(request: Json, options: RunOptions): Promise<ServedResult>;
    tools(): readonly ServedTool[];
    watchTools(changed: () => void): () => void;
  };
  /** Cancels what the session has open. */
  endSession(session: string): void;
}

/** One tool as a client sees it. */
export interface ServedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly [key: string]: unknown };
}

export interface RunOptions {
  readonly session: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
  /** Absent: the client has nobody to ask. */
  readonly approve?: Ask;
}

export interface ServedResult {
  readonly content: readonly { readonly type: string; readonly [key: string]: unknown }[];
  readonly structuredContent?: { readonly [key: string]: unknown };
  readonly isError?: boolean;
}

export interface Surface {
  readonly workspace: ServedWorkspace;
  readonly info: { readonly name: string; readonly version: string };
  /** The tools themselves under their full names, in place of the gateway's one tool. */
  readonly isDirect: boolean;
}
