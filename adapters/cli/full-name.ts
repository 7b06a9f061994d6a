/** The ids that a full name `mcp__<server>__<tool>` can stand for; usually one. */
export function serversNamedIn(name: string, ids: readonly string[]): readonly string[] {
  return ids.filter((id) => name.startsWith(`mcp__${id}__`));
}
