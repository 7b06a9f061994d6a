import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Share of the transitions of all charts that the properties have to take. */
const SHARE_MIN = 0.95;

/**
 * Adds up what each property file took (`record-transitions.ts` left it in this folder), prints the share and what is
 * missing, and says whether it is enough. What no seed takes stands in `untaken.json` with its reason; the rest is chance.
 */
export function judgeTransitions(folder) {
  const reports = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')));
  const all = new Set(reports.flatMap((report) => report.all));
  const taken = new Set(reports.flatMap((report) => report.taken));
  const untaken = JSON.parse(readFileSync(join(import.meta.dirname, 'untaken.json'), 'utf8'));
  const missed = [...all].filter((name) => !taken.has(name));
  const share = all.size === 0 ? 0 : (all.size - missed.length) / all.size;
  console.log(`transitions: ${all.size - missed.length} of ${all.size} taken, ${(100 * share).toFixed(1)} %`);
  for (const name of missed) console.log(`  untaken: ${name}: ${untaken[name] ?? 'not with this seed'}`);
  const unknown = Object.keys(untaken).filter((name) => !all.has(name));
  for (const name of unknown) console.log(`  explained, and no transition of any chart: ${name}`);
  return share >= SHARE_MIN && unknown.length === 0;
}
