import { resolve } from 'node:path';
import { defaultPaths } from '../../default-paths.js';
import { openHttpDoor } from '../../serve/http-door.js';
import { isToken } from '../../serve/request-guard.js';
import { unguessable } from '../../serve/secrets.js';
import type { Surface } from '../../serve/served-workspace.js';
import { openStdioDoor } from '../../serve/stdio-door.js';
import { type TokenFile, writeTokenFile } from '../../serve/token-file.js';
import { quoted, visibleLine } from '../../shared/visible-text.js';
import { systemClock } from '../../system-clock.js';
import { EXIT } from '../exit-codes.js';
import { type Io, unlessAborted } from '../io.js';
import type { WorkspaceStatus } from '../library.js';
import { packageRoot } from '../package-root.js';
import type { Flags } from '../parse.js';
import { renderFault } from '../render-status.js';
import { type Session, withWorkspace } from '../session.js';
import { UsageError } from '../usage-error.js';

const TOKEN_VARIABLE = 'MCP_SUPERVISOR_TOKEN';
const ON_A_TERMINAL =
  'Waiting for an MCP client on stdin: this is for a client to start. "mcp-supervisor help serve" shows how; Ctrl-C ends it.\n';
const common = { clock: systemClock, nonce: unguessable };

/**
 * Serves the workspace as one MCP server, to the client at the other end of stdin and stdout or, with `--http`, to any number
 * on this machine. Ends with the end of stdin or a signal; stdout has nothing but JSON-RPC, whatever has to be said is on stderr.
 */
export function serveCommand(io: Io, flags: Flags): Promise<number> {
  const { http, direct } = flags;
  // Read before anything is opened: a token that cannot be one is a slip of whoever typed it.
  const token = http === undefined ? null : tokenFrom(io);
  return withWorkspace(io, flags, { asks: false, discover: true }, async (session) => {
    const quiet = sayWhatWaits(session);
    try {
      const surface: Surface = {
        workspace: session.workspace,
        info: { name: 'mcp-supervisor', version: packageRoot().version },
        isDirect: direct,
      };
      if (http === undefined || token === null) return await serveStdio(session, surface);
      return await serveHttp(session, surface, http, token);
    } finally {
      quiet();
    }
  });
}

async function serveStdio({ io: { stdin, stdout, interrupted }, complain }: Session, surface: Surface): Promise<number> {
  if (stdin.isTTY === true) await complain(ON_A_TERMINAL);
  const door = openStdioDoor({ ...surface, ...common, input: stdin, output: stdout });
  try {
    await unlessAborted(interrupted, door.ended);
    return EXIT.done;
  } finally {
    await door.close();
  }
}

async function serveHttp({ io, flags, complain }: Session, surface: Surface, port: number, token: Token): Promise<number> {
  const door = await openHttpDoor({ ...surface, ...common, port, token: token.text }).catch((error: unknown) => {
    throw new UsageError(`--http ${port}: the port cannot be had (${reasonOf(error)}).`);
  });
  let file: TokenFile | null = null;
  try {
    if (!token.isGiven) {
      const { stateDir } = defaultPaths(
        flags.stateDir === undefined ? {} : { stateDir: resolve(io.cwd, flags.stateDir) },
        io.env,
      );
      file = await writeTokenFile(stateDir, door.port, token.text);
    }
    // Never the token itself: what is on stderr ends in logs.
    const where = file === null ? `is the value of ${TOKEN_VARIABLE}` : `is in ${visibleLine(file.path)}`;
    await complain(`Serving MCP at ${door.url}; the bearer token ${where}\n`);
    await unlessAborted(io.interrupted, new Promise<never>(() => undefined));
    return EXIT.done;
  } finally {
    await door.close();
    await file?.remove();
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : 'unknown');

interface Token {
  readonly text: string;
  readonly isGiven: boolean;
}

function tokenFrom({ env }: Io): Token {
  const given = env[TOKEN_VARIABLE];
  if (given === undefined || given === '') return { text: unguessable(), isGiven: false };
  if (!isToken(given))
    throw new UsageError(`${TOKEN_VARIABLE} is no bearer token: 22 characters or more of A-Z a-z 0-9 - . _ ~ + /.`);
  return { text: given, isGiven: true };
}

/** Nobody is asked about a server from here: says once on stderr what waits, and how a person opens it. */
function sayWhatWaits({ workspace, complain }: Session): () => void {
  let said: readonly string[] = [];
  const watching = workspace.status$.subscribe({
    next: (status) => {
      const now = waiting(status);
      const news = now.filter((line) => !said.includes(line));
      said = now;
      if (news.length > 0) void complain(news.map((line) => `${line}\n`).join(''));
    },
    error: () => undefined,
  });
  return () => watching.unsubscribe();
}

function waiting({ workspace: { config }, servers }: WorkspaceStatus): string[] {
  const asking = servers.flatMap(({ id, phase, fingerprint }) =>
    phase === 'approving' && fingerprint !== null
      ? `server ${quoted(id)} waits for an approval: "mcp-supervisor status" shows its card, --approve ${fingerprint} lets it start`
      : [],
  );
  return [...config.errors.map((fault) => `configuration: ${visibleLine(renderFault(fault))}`), ...asking];
}
