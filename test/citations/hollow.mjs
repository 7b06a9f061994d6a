import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';

const root = join(import.meta.dirname, '../..');
/** What is shipped, from the root of the repository. */
const SHIPPED = /^(machines\/|actors\/|adapters\/|index\.ts$)/;

export const isShipped = (file) => SHIPPED.test(file) && file.endsWith('.ts');

/** What hollow functions return: nothing, or the `inert` value of `setup.ts`, which bears whatever is done to it. */
export const RETURNS = ['nothing', 'inert'];

/**
 * The same module with nothing in it: every function and method does nothing, whatever it is given, and returns nothing or
 * `inert`; constructors keep only the call of `super`. What a module does when it is loaded stays, so that tests can be
 * collected.
 */
export function hollow(source, file = 'module.ts', returns = 'nothing') {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const { transformed } = ts.transform(tree, [
    (context) => (node) => ts.visitEachChild(node, (child) => emptied(child, context, returns), context),
  ]);
  return ts.createPrinter().printFile(transformed[0]);
}

/** Outside of every function, what is given to a method of a list runs while the module is loaded: it makes a table of constants. */
function makesTable({ parent }) {
  if (!ts.isCallExpression(parent) || !ts.isPropertyAccessExpression(parent.expression)) return false;
  return ['map', 'flatMap', 'filter'].includes(parent.expression.name.text);
}

function bodyOf(returns) {
  const { factory } = ts;
  if (returns === 'nothing') return factory.createBlock([]);
  const inert = factory.createPropertyAccessExpression(factory.createIdentifier('globalThis'), 'inert');
  return factory.createBlock([factory.createReturnStatement(inert)]);
}

function emptied(node, context, returns) {
  const { factory } = ts;
  const body = bodyOf(returns);
  if (ts.isConstructorDeclaration(node) && node.body !== undefined) {
    const base = node.parent.heritageClauses?.some(({ token }) => token === ts.SyntaxKind.ExtendsKeyword);
    const call = factory.createExpressionStatement(factory.createCallExpression(factory.createSuper(), undefined, []));
    return factory.updateConstructorDeclaration(node, undefined, [], factory.createBlock(base ? [call] : []));
  }
  if (ts.isArrowFunction(node)) {
    if (makesTable(node)) return node;
    const { equalsGreaterThanToken: arrow } = node;
    return factory.updateArrowFunction(node, node.modifiers, undefined, [], undefined, arrow, body);
  }
  if (ts.isFunctionExpression(node))
    return factory.updateFunctionExpression(node, node.modifiers, node.asteriskToken, node.name, undefined, [], undefined, body);
  if (ts.isFunctionDeclaration(node)) {
    // A signature alone is one of several of a function.
    if (node.body === undefined) return undefined;
    const { modifiers, asteriskToken, name } = node;
    return factory.updateFunctionDeclaration(node, modifiers, asteriskToken, name, undefined, [], undefined, body);
  }
  if (ts.isMethodDeclaration(node)) {
    if (node.body === undefined) return undefined;
    const { modifiers, asteriskToken, name } = node;
    return factory.updateMethodDeclaration(node, modifiers, asteriskToken, name, undefined, undefined, [], undefined, body);
  }
  if (ts.isSpreadElement(node)) {
    // A module that spreads what its own functions give, while it is loaded, would not load.
    const spread = ts.visitEachChild(node, (child) => emptied(child, context, returns), context).expression;
    return factory.createSpreadElement(
      factory.createLogicalOr(factory.createParenthesizedExpression(spread), factory.createArrayLiteralExpression()),
    );
  }
  if (ts.isGetAccessorDeclaration(node))
    return factory.updateGetAccessorDeclaration(node, node.modifiers, node.name, [], undefined, body);
  if (ts.isSetAccessorDeclaration(node))
    return factory.updateSetAccessorDeclaration(node, node.modifiers, node.name, node.parameters, ts.factory.createBlock([]));
  return ts.visitEachChild(node, (child) => emptied(child, context, returns), context);
}

/** A vite plugin: every module of the product is loaded hollow. */
export function hollowProduct(returns) {
  return {
    name: 'hollow-product',
    enforce: 'pre',
    load(path) {
      const [plain] = path.split('?');
      if (!plain.startsWith(`${root}/`) || !isShipped(plain.slice(root.length + 1))) return null;
      return hollow(readFileSync(plain, 'utf8'), plain, returns);
    },
  };
}

/**
 * Writes the hollow product as it would be built, for the tests that run the command, where its dependencies can be found;
 * returns the folder in the place of `dist`.
 */
export function buildHollow() {
  const home = join(root, 'node_modules/.cache/hollow');
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home, { recursive: true });
  cpSync(join(root, 'package.json'), join(home, 'package.json'));
  const options = { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true };
  const files = ['machines', 'actors', 'adapters'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, name)),
  );
  for (const file of [...files, 'index.ts'].filter(isShipped)) {
    const { outputText } = ts.transpileModule(hollow(readFileSync(join(root, file), 'utf8'), file), { compilerOptions: options });
    const target = join(home, 'dist', file.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, outputText);
  }
  return join(home, 'dist');
}
