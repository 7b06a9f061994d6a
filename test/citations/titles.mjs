import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';

const root = join(import.meta.dirname, '../..');
const TESTED = ['test', 'properties'];
const ID = /\b[SB]\d{3}a?\b/;
const IDS = /\b([SB])(\d{3})(a?)(?:\s*[–-]\s*\1?(\d{3}))?\b/g;

/** Ids of `test/cases/ids.json`, by group; `complete` ones may have none that no test title cites. */
export const readGroups = () => JSON.parse(readFileSync(join(root, 'test/cases/ids.json'), 'utf8')).groups;

/** The ids in a title; `S140–S144` stands for all five. */
export function idsIn(title) {
  return [...title.matchAll(IDS)].flatMap(([, kind, first, letter, last]) => {
    if (last === undefined) return [kind + first + letter];
    const count = Number(last) - Number(first) + 1;
    return Array.from({ length: Math.max(0, count) }, (_, at) => kind + String(Number(first) + at).padStart(3, '0'));
  });
}

/**
 * Each test file with the ids that its titles cite, as far as they stand there as text: in the titles of tests and suites, in
 * the tables of `each`, and in `title:` of what a helper of `test/support` makes tests of.
 */
export function citingFiles() {
  const sources = new Map(TESTED.flatMap(filesIn).map((file) => [file, readFileSync(join(root, file), 'utf8')]));
  const cited = new Map([...sources].map(([file, source]) => [file, ID.test(source) ? citedIn(file, source) : []]));
  const tests = [...sources.keys()].filter((file) => /\.(test|property)\.ts$/.test(file));
  return new Map(
    tests.flatMap((file) => {
      const ids = new Set([...reachedFrom(file, sources)].flatMap((one) => cited.get(one) ?? []));
      return ids.size === 0 ? [] : [[file, ids]];
    }),
  );
}

function filesIn(directory) {
  const entries = readdirSync(join(root, directory), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

/** A test file and the helpers it imports, one through the other. */
function reachedFrom(file, sources) {
  const reached = new Set([file]);
  for (const one of reached) {
    for (const [, path] of (sources.get(one) ?? '').matchAll(/from '(\.[^']+)\.js'/g)) {
      const helper = `${join(dirname(one), path)}.ts`;
      if (helper.startsWith('test/support/') && sources.has(helper)) reached.add(helper);
    }
  }
  return reached;
}

/** The ids in the titles of one file. */
export function citedIn(file, source) {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const constants = new Map();
  const ids = [];
  const cite = (node) => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node))
      ids.push(...idsIn(node.text));
    else if (ts.isIdentifier(node)) {
      const value = constants.get(node.text);
      // Once: a table may name itself.
      constants.delete(node.text);
      if (value !== undefined) cite(value);
    } else ts.forEachChild(node, cite);
  };
  const visit = (node) => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer !== undefined)
      constants.set(node.name.text, node.initializer);
    if (ts.isCallExpression(node) && isTestCall(node.expression)) {
      if (node.arguments[0] !== undefined) cite(node.arguments[0]);
      if (isEach(node.expression)) for (const argument of node.expression.arguments) cite(argument);
    }
    if (file.startsWith('test/support/') && ts.isPropertyAssignment(node) && node.name.getText() === 'title')
      cite(node.initializer);
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return ids;
}

/** `test(…)`, `describe.skipIf(…)(…)`, `it.each(…)(…)`: what is called is one of the three, however it is modified. */
function isTestCall(callee) {
  if (ts.isIdentifier(callee)) return ['test', 'it', 'describe'].includes(callee.text);
  if (ts.isPropertyAccessExpression(callee)) return false;
  return (
    ts.isCallExpression(callee) && ts.isPropertyAccessExpression(callee.expression) && isTestCall(callee.expression.expression)
  );
}

const isEach = (callee) => ts.isCallExpression(callee) && callee.expression.name?.text === 'each';

/** What of each group no title cites. */
export function uncited(groups, cited) {
  return groups.map(({ name, complete, ids }) => ({
    name,
    complete,
    total: ids.length,
    missing: ids.filter((id) => !cited.has(id)),
  }));
}
