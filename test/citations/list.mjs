/**
 * Lists by group which ids of `test/cases/ids.json` no test title cites. Exits with 1 when a group that is declared complete
 * has one, and when a title or a decision names an id that no group has.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { citingFiles, readGroups, uncited } from './titles.mjs';

const groups = readGroups();
const cited = new Set([...citingFiles().values()].flatMap((ids) => [...ids]));
const known = new Set(groups.flatMap(({ ids }) => ids));
const decided = Object.keys(JSON.parse(readFileSync(join(import.meta.dirname, '../cases/decided-otherwise.json'), 'utf8')));

let isGood = true;
for (const { name, complete, total, missing } of uncited(groups, cited)) {
  if (complete && missing.length > 0) isGood = false;
  const what = missing.length === 0 ? 'all cited' : `not cited: ${missing.join(' ')}`;
  if (!complete || missing.length > 0 || process.argv.includes('--all')) {
    console.log(`${name} (${total - missing.length} of ${total}${complete ? ', complete' : ''}): ${what}`);
  }
}
const strange = [...new Set([...cited, ...decided])].filter((id) => !known.has(id));
if (strange.length > 0) {
  isGood = false;
  console.log(`cited, and in no group of test/cases/ids.json: ${strange.join(' ')}`);
}
process.exitCode = isGood ? 0 : 1;
