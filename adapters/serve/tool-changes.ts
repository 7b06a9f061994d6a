import type { ClockPort } from '../../actors/ports.js';
import type { ServedTool, ServedWorkspace } from './served-workspace.js';
import { exposedTools } from './tool-pages.js';

/** From the first change to the notice: what changes together is told once. */
const SETTLE_MS = 250;

/** Tells, after the exposed tools have really changed, whoever wants to know; what it returns ends that. */
export function followTools(workspace: ServedWorkspace, clock: ClockPort, tell: () => void): () => void {
  let known = exposedTools(workspace);
  let timer: unknown;
  const look = (): void => {
    timer = undefined;
    const now = exposedTools(workspace);
    const isSame = now.length === known.length && now.every((tool, at) => isSameTool(tool, known[at]));
    known = now;
    if (!isSame) tell();
  };
  const unwatch = workspace.gateway.watchTools(() => {
    timer ??= clock.setTimeout(look, SETTLE_MS);
  });
  return () => {
    unwatch();
    clock.clearTimeout(timer);
  };
}

/** A list that was read again brings new objects that say the same. */
function isSameTool(one: ServedTool, other: ServedTool | undefined): boolean {
  if (other === undefined || one.name !== other.name || one.description !== other.description) return false;
  return one.inputSchema === other.inputSchema || JSON.stringify(one.inputSchema) === JSON.stringify(other.inputSchema);
}
