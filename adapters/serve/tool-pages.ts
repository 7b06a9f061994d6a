import type { ServedTool, Surface } from './served-workspace.js';

const PAGE_TOOLS_MAX = 100;
/** Units of JSON; a page holds one tool at least. */
const PAGE_UNITS_MAX = 1_048_576;
/** More than a client could use; the rest is still there for those who search. */
export const EXPOSED_MAX = 2_048;
const CURSOR = 'after ';

export interface ToolPage {
  readonly tools: readonly ServedTool[];
  readonly nextCursor?: string;
}

/**
 * The tools of one answer to `tools/list`: the gateway's one tool to the letter, or a page of all that may be called. A cursor
 * names the last tool of the page before, so that a list that changes meanwhile is read on from there. Null for a cursor that
 * is none of ours.
 */
export function toolPage({ workspace, isDirect }: Surface, cursor: string | undefined): ToolPage | null {
  if (cursor !== undefined && !(isDirect && cursor.startsWith(CURSOR))) return null;
  if (!isDirect) return { tools: [workspace.gateway.tool] };
  const last = cursor?.slice(CURSOR.length) ?? '';
  const left = exposedTools(workspace).filter(({ name }) => name > last);
  const tools: ServedTool[] = [];
  let units = 0;
  for (const { name, description, inputSchema } of left) {
    const tool = { name, description, inputSchema };
    units += JSON.stringify(tool).length;
    if (tools.length === PAGE_TOOLS_MAX || (tools.length > 0 && units > PAGE_UNITS_MAX)) break;
    tools.push(tool);
  }
  const end = tools.at(-1);
  return end === undefined || tools.length === left.length ? { tools } : { tools, nextCursor: CURSOR + end.name };
}

/** In the order of names. */
export function exposedTools(workspace: Surface['workspace']): readonly ServedTool[] {
  return [...workspace.gateway.tools()].sort((one, other) => (one.name < other.name ? -1 : 1)).slice(0, EXPOSED_MAX);
}
