import fc from 'fast-check';
import { inject } from 'vitest';

const seed = inject('fcSeed');
const numRuns = inject('fcRuns');

fc.configureGlobal(numRuns > 0 ? { seed, numRuns } : { seed });
