import type {
  CloseOutcome,
  Code,
  Failure,
  GateName,
  Generation,
  LayerName,
  Phase,
  ServerId,
  Stage,
} from '../machines/vocabulary.js';
import type { ConfigFault } from './ports.js';

/** Why a server is not ready, or a tool not callable: all that is known, read at once, as data. */
export interface Explanation {
  /** A server's id, `server.tool`, `server.resources/read` or `server.prompts/get`. */
  readonly subject: string;
  readonly server: ServerId;
  /** The layer that serves the id, or would have to; where its entry was not taken, the highest that names it. */
  readonly layer: LayerName;
  /** Where the entry stands; the line is null for one in code, and in a file that was not taken. */
  readonly file: string | null;
  readonly line: number | null;
  /** The other layers that name the id, and why they do not serve it. */
  readonly shadowed: readonly ShadowedEntry[];
  readonly phase: Phase;
  /** `config` for an entry that was not taken. */
  readonly stage: Stage | null;
  /** All five in the order they are tried. The first that is shut counts; the ones after it are told as they would be found. */
  readonly gates: readonly GateVerdict[];
  /** What went wrong last, or keeps it from starting. */
  readonly error: Failure | null;
  /** When it is started again by itself: in ms since 1970, and from now. */
  readonly retry: { readonly atMs: number; readonly inMs: number } | null;
  /** Deaths within the window; one more than `max` and it has failed. */
  readonly restarts: { readonly count: number; readonly max: number; readonly windowMs: number };
  /** Its place among those that wait for a live slot, from 1, and how many slots there are. */
  readonly slot: { readonly position: number; readonly capacity: number } | null;
  readonly lastClose: { readonly generation: Generation; readonly outcome: CloseOutcome; readonly reason: string } | null;
  /** What would happen if somebody called it now. */
  readonly onDemand: OnDemand;
  /** Faults of the configuration that concern it; every error does, as nothing newer is taken before it is mended. */
  readonly faults: readonly (ConfigFault & { readonly severity: 'error' | 'warning' })[];
  /** For a tool, a read or a prompt: what the rules decide. */
  readonly policy: PolicyVerdictExplained | null;
  readonly tool: ToolExplained | null;
}

export interface ShadowedEntry {
  readonly layer: LayerName;
  readonly file: string | null;
  readonly line: number | null;
  readonly code: Code;
  readonly why: string;
}

export interface GateVerdict {
  readonly gate: GateName;
  /** `untried`: what would run is not looked at before the gates before this one are open and somebody wants it. */
  readonly state: 'open' | 'shut' | 'untried';
  /** Of a shut one; its hint is the command or the line that opens it. */
  readonly failure: Failure | null;
}

export interface OnDemand {
  /** What comes first: it is sent, its server is started, a person is asked, it waits for what is under way, or it fails. */
  readonly does: 'send' | 'start' | 'ask' | 'wait' | 'refuse';
  readonly why: string;
  /** Of a refusal. */
  readonly failure: Failure | null;
}

export interface PolicyVerdictExplained {
  readonly verdict: 'allow' | 'ask' | 'deny';
  /** The rule that decided, in words. */
  readonly rule: string;
  /** Whose rule it is, and where it stands; null where no rule of the configuration decided. */
  readonly layer: LayerName | null;
  readonly file: string | null;
  readonly line: number | null;
  /** The host judges each call itself as well, and may be stricter. */
  readonly isHostAsked: boolean;
}

export interface ToolExplained {
  /** Full name; null for one that was never listed. */
  readonly name: string | null;
  /** What the server calls it. */
  readonly tool: string;
  /** `left-out`: the server offers it, and it is not usable. */
  readonly state: 'listed' | 'unlisted' | 'left-out';
  /** Known from an earlier listing, not from the running server. */
  readonly cached: boolean;
  /** Why it cannot be called, or is asked about again: not listed, left out, over the limit, definition changed. */
  readonly reasons: readonly Failure[];
}
