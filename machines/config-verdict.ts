import { isWorkspaceLayer, type LayerName } from './vocabulary.js';

/** One layer's reading, reduced to what decides about the whole. */
export interface LayerVerdict {
  readonly layer: LayerName;
  readonly state: 'absent' | 'valid' | 'rejected';
}

/**
 * `valid`: take every counting layer. `degraded`: a first load; take the valid ones, the rejected contribute nothing.
 * `rejected`: take nothing, what runs stays as it is.
 */
export type ConfigVerdict = 'valid' | 'degraded' | 'rejected';

/** Whether a layer contributes at all: one of an untrusted workspace is only shown, and its faults are warnings. */
export function isCountedLayer(layer: LayerName, isTrusted: boolean): boolean {
  return isTrusted || !isWorkspaceLayer(layer);
}

/** Judges one reading of all layers. A bad layer is never read as an empty one. */
export function configVerdict(
  layers: readonly LayerVerdict[],
  facts: { readonly isTrusted: boolean; readonly hasRuntime: boolean },
): ConfigVerdict {
  const isBad = layers.some(({ layer, state }) => state === 'rejected' && isCountedLayer(layer, facts.isTrusted));
  if (!isBad) return 'valid';
  return facts.hasRuntime ? 'rejected' : 'degraded';
}
