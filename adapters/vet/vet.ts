import type { ConfigScope, DigestPort, HttpLaunch, ServerDefinition, StdioLaunch, VetPort, Vetted } from '../../actors/ports.js';
import { isWorkspaceLayer } from '../../machines/vocabulary.js';
import { type CodeFile, httpCard, stdioCard } from './approval-card.js';
import { stdioNotes } from './card-notes.js';
import { childEnv } from './child-env.js';
import { codeFiles } from './code-files.js';
import { type ContentDigest, createContentDigest } from './content-digest.js';
import { INTERPRETERS, type Invocation, invocationOf, scriptAt } from './invocation.js';
import { errorCode, isInside, refusal } from './paths.js';
import { createResolveCommand } from './resolve-command.js';
import { workingDirectory } from './working-directory.js';

export interface VetOptions {
  /** The host's environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly digest: DigestPort;
  /** Value of `MCP_SUP_ID` in every server's environment; no part of a fingerprint. */
  readonly marker: string;
  /**
   * Keys the digests of header values in a fingerprint; with one that outlives the run, a fingerprint that was approved can be
   * given to the next. Absent or failing: a key of this process.
   */
  readonly salt?: () => Promise<string>;
  readonly platform?: NodeJS.Platform;
}

/**
 * Says exactly what would run, and asks the disk anew every time. Only a workspace's servers have a fingerprint and a card,
 * and only for them is content read; a user's own start as fast as their path can be told. What changes after the last look,
 * in the moment before the system itself opens the file, cannot be seen: Node starts no program by an open file.
 */
export function createVet({ env, digest, marker, salt, platform = process.platform }: VetOptions): VetPort {
  const resolveCommand = createResolveCommand({ env, platform });
  const content = createContentDigest();

  const stdio = async (definition: ServerDefinition, scope: ConfigScope): Promise<Vetted> => {
    const wholeEnv = childEnv(definition, env, marker, platform);
    const cwd = await workingDirectory(definition, scope);
    const command = await resolveCommand(definition, scope, cwd);
    const launch: StdioLaunch = { transport: 'stdio', command, args: definition.args, cwd, env: wholeEnv };
    const invocation = invocationOf(definition.command ?? '', command, definition.args);
    refuseTilde(definition, invocation);
    if (!isWorkspaceLayer(definition.layer)) return { launch, fingerprint: null, card: null };

    const code = await codeFiles(definition, invocation, scope.root, cwd);
    const files = await digestAll(definition, [command, ...code.files], scope.root, content);
    const { args } = launch;
    const fingerprint = digest.ofJson({
      transport: 'stdio',
      command,
      args,
      cwd,
      env: definition.env,
      files: files.map(({ path, sha256 }) => [path, sha256]),
    });
    const notes = stdioNotes(definition, invocation, code.isOpen);
    return { launch, fingerprint, card: stdioCard(definition, launch, files, fingerprint, notes, digest) };
  };

  const ownKey = digest.keyed('header values');
  const keyOf = async (headers: Readonly<Record<string, string>>): Promise<string> =>
    salt === undefined || Object.keys(headers).length === 0 ? ownKey : salt().catch(() => ownKey);

  const http = async (definition: ServerDefinition, transport: HttpLaunch['transport']): Promise<Vetted> => {
    const { url = '', headers } = definition;
    if (!URL.canParse(url)) throw refusal('REFUSED_URL', definition, 'url', 'is not an absolute URL');
    // An address that may not be used in the clear is refused before it gets here.
    const launch: HttpLaunch = { transport, url, headers, isPlaintextAllowed: url.toLowerCase().startsWith('http:') };
    if (!isWorkspaceLayer(definition.layer)) return { launch, fingerprint: null, card: null };
    const key = await keyOf(headers);
    const keyed = Object.entries(headers).map(([name, value]): [string, string] => {
      return [name.toLowerCase(), digest.ofJson([key, 'header', value])];
    });
    const fingerprint = digest.ofJson({ transport, url: canonicalUrl(url), headers: Object.fromEntries(keyed) });
    return { launch, fingerprint, card: httpCard(definition, launch, fingerprint, digest) };
  };

  return {
    async vet(definition, scope) {
      return definition.transport === 'stdio' ? stdio(definition, scope) : http(definition, definition.transport);
    },
  };
}

/**
 * No shell runs that would expand it: an interpreter would be given a directory named `~` below where it starts, which any
 * checkout can bring. Other arguments may begin with a tilde; what they mean is the program's affair.
 */
function refuseTilde(definition: ServerDefinition, { program, args }: Invocation): void {
  const script = INTERPRETERS.has(program) ? args[scriptAt(args)] : undefined;
  if (script === undefined || !/^~[/\\]/.test(script)) return;
  const at = definition.args.indexOf(script);
  const field = at === -1 ? 'args' : `args[${at}]`;
  throw refusal('REFUSED_COMMAND', definition, field, 'no shell runs here that would expand "~"', 'Write the absolute path.');
}

/** Host case and default port as the parser writes them, fragment dropped, path and query exact. */
function canonicalUrl(text: string): string {
  const url = new URL(text);
  url.hash = '';
  return url.href;
}

/** The executable first. What lies inside the workspace is read every time: who writes there may also set file times. */
async function digestAll(
  definition: ServerDefinition,
  paths: readonly string[],
  root: string,
  content: ContentDigest,
): Promise<readonly CodeFile[]> {
  const files: CodeFile[] = [];
  for (const path of paths) {
    const sha256 = await content.of(path, { fresh: isInside(path, root) }).catch((error: unknown) => {
      const reason = errorCode(error) === 'Error' && error instanceof Error ? error.message : errorCode(error);
      throw refusal('REFUSED_COMMAND', definition, 'command', `what would run cannot be read (${reason})`);
    });
    files.push({ path, sha256 });
  }
  return files;
}
