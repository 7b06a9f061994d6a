export interface Group {
  readonly name: string;
  readonly complete: boolean;
  readonly ids: readonly string[];
}

export function readGroups(): readonly Group[];
export function idsIn(title: string): readonly string[];
export function citingFiles(): ReadonlyMap<string, ReadonlySet<string>>;
export function citedIn(file: string, source: string): readonly string[];
export function uncited(
  groups: readonly Group[],
  cited: ReadonlySet<string>,
): readonly { readonly name: string; readonly complete: boolean; readonly total: number; readonly missing: readonly string[] }[];
