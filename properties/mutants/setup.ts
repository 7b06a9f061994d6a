import fc from 'fast-check';
import { inject } from 'vitest';
import { recordTransitions } from './record-transitions.js';

const numRuns = inject('fcRuns');

// The first failure is what counts; a smaller case of it would only take time.
fc.configureGlobal({ seed: inject('fcSeed'), endOnFailure: true, ...(numRuns > 0 && { numRuns }) });

const folder = process.env['TRANSITIONS'];
if (folder !== undefined) recordTransitions(folder);
