import { readFileSync } from 'node:fs';

/** A fixture of `test/cases`, parsed. */
export function caseFile(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../cases/${name}`, import.meta.url), 'utf8'));
}
