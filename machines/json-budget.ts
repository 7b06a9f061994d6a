export interface JsonBudget {
  readonly depthMax: number;
  readonly nodesMax: number;
  /** UTF-16 units in strings and keys together. */
  readonly unitsMax: number;
}

/** Says which bound a JSON value breaks, `null` when none. Not recursive: depth cannot overflow the stack, and it stops at the bound. */
export function overBudget(value: unknown, budget: JsonBudget): string | null {
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 1 }];
  let nodes = 1;
  let units = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next.value === 'string') units += next.value.length;
    if (typeof next.value === 'object' && next.value !== null) {
      if (next.depth > budget.depthMax) return `nested deeper than ${budget.depthMax}`;
      const keys = Array.isArray(next.value) ? [] : Object.keys(next.value);
      const children: readonly unknown[] = Array.isArray(next.value) ? next.value : Object.values(next.value);
      nodes += children.length;
      if (nodes > budget.nodesMax) return `more than ${budget.nodesMax} values`;
      for (const key of keys) units += key.length;
      for (const child of children) open.push({ value: child, depth: next.depth + 1 });
    }
    if (units > budget.unitsMax) return `more than ${budget.unitsMax} characters`;
  }
  return null;
}
