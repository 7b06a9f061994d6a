/** The value below which `share` of the samples lie; NaN without samples. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

export const median = (samples: readonly number[]): number => quantile(samples, 0.5);

export const rounded = (value: number, digits = 3): number => Number(value.toFixed(digits));

/** Collects garbage where the bench was started with `--expose-gc`, so that one leg does not pay for another's. */
export function collectGarbage(): void {
  globalThis.gc?.();
}
