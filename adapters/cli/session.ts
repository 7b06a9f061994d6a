import { quoted } from '../shared/visible-text.js';
import { createDeadline, type Deadline } from './deadline.js';
import { serversNamedIn } from './full-name.js';
import { canAsk, hasColour, type Io, unlessAborted, write } from './io.js';
import type { CreateSupervisor, Supervisor, SupervisorPaths, Workspace, WorkspaceStatus } from './library.js';
import type { Flags } from './parse.js';
import { directory, pathsFrom } from './places.js';
import { createProgress, type Progress } from './progress.js';
import { createTerminalPrompt, type TerminalPrompt } from './terminal-prompt.js';

export interface SessionOptions {
  /** Questions are asked on the terminal; commands that start nothing leave them open. */
  readonly asks: boolean;
  /** Asks about this server alone, given by its id or by the full name of a tool. Absent: about every one. */
  readonly asksAbout?: string;
  /** Start servers that were never listed once at load. */
  readonly discover: boolean;
  /** Called when the terminal is needed for a question, and when it is free again. */
  readonly onQuestion?: { asking(): void; answered(): void };
}

/** What a command works with: one open workspace, bounded by `--timeout`. */
export interface Session {
  readonly io: Io;
  readonly flags: Flags;
  readonly supervisor: Supervisor;
  readonly workspace: Workspace;
  /** Null where nobody can be asked, or is not to be. */
  readonly prompt: TerminalPrompt | null;
  readonly deadline: Deadline;
  readonly progress: Progress;
  readonly colour: boolean;
  /** To stdout; nothing after an interruption. */
  readonly print: (text: string) => Promise<void>;
  /** To stderr; nothing after an interruption. */
  readonly complain: (text: string) => Promise<void>;
  /** Rejects with `NOT_READY` when `--timeout` is over first, and with `Interrupted` when a signal came. */
  readonly inTime: <T>(work: Promise<T>) => Promise<T>;
  /** The status once it is known what would run and every question is on the table; starts nothing. */
  readonly vetted: () => Promise<WorkspaceStatus>;
  /** The same, and once every question on the terminal is answered; elsewhere they stay open. */
  readonly answered: () => Promise<WorkspaceStatus>;
  /** Connects every server with open gates, those included that a person approves on the way. */
  readonly connectAll: () => Promise<WorkspaceStatus>;
}

/**
 * Opens the workspace, runs the body, and closes the supervisor whatever happened; settles when nothing of it is left.
 * Rejects with `Interrupted` as soon as a signal came, and with what the body or the opening rejected with.
 */
export async function withWorkspace(
  io: Io,
  flags: Flags,
  options: SessionOptions,
  body: (session: Session) => Promise<number>,
): Promise<number> {
  const root = await directory(io, flags);
  const paths = await pathsFrom(io, flags);
  const deadline = createDeadline(flags.timeoutMs);
  const progress = createProgress(io);
  const prompt = options.asks ? promptOn(io, deadline, progress, options) : null;
  const opened: { supervisor?: Supervisor; unsubscribe?: () => void } = {};
  const unlessInterrupted = <T>(step: Promise<T>): Promise<T> => unlessAborted(io.interrupted, step);
  // Every wait ends with a signal, so that nothing is made after it that nobody would close.
  const work = async (): Promise<number> => {
    io.interrupted.throwIfAborted();
    const library = await unlessInterrupted(io.load());
    const supervisor = create(library, paths, flags, options, prompt);
    opened.supervisor = supervisor;
    const trusted = flags.trust ? { trusted: true } : {};
    const workspace = await unlessInterrupted(supervisor.openWorkspace(root, { ...trusted, enable: flags.enable }));
    const session = sessionOf({ io, flags, supervisor, workspace, deadline, progress, prompt }, options);
    await session.inTime(workspace.loaded);
    const watching = workspace.status$.subscribe({ next: progress.show, error: () => progress.end() });
    opened.unsubscribe = () => watching.unsubscribe();
    await warnOfUnknown(session);
    io.interrupted.throwIfAborted();
    return body(session);
  };
  const working = work();
  try {
    return await unlessInterrupted(working);
  } finally {
    deadline.end();
    prompt?.close();
    opened.unsubscribe?.();
    progress.end();
    await opened.supervisor?.close();
    // What the body holds is its own to end; how it went is told already.
    await working.catch(() => undefined);
  }
}

function create(
  createSupervisor: CreateSupervisor,
  paths: SupervisorPaths,
  { approve }: Flags,
  { discover }: SessionOptions,
  prompt: TerminalPrompt | null,
): Supervisor {
  return createSupervisor({
    approvedFingerprints: approve,
    discover,
    paths,
    ...(prompt === null ? {} : { approve: prompt.ask }),
  });
}

function promptOn(
  io: Io,
  deadline: Deadline,
  progress: Progress,
  { onQuestion, asksAbout }: SessionOptions,
): TerminalPrompt | null {
  if (!canAsk(io)) return null;
  return createTerminalPrompt(io.stdin, io.stderr, {
    isAsked: ({ server }) => isAbout(server, asksAbout),
    asking: () => {
      deadline.pause();
      progress.pause();
      onQuestion?.asking();
    },
    answered: () => {
      deadline.resume();
      progress.resume();
      onQuestion?.answered();
    },
  });
}

const isAbout = (server: string, name: string | undefined): boolean =>
  name === undefined || name === server || serversNamedIn(name, [server]).length > 0;

type SessionParts = Pick<Session, 'io' | 'flags' | 'supervisor' | 'workspace' | 'deadline' | 'progress' | 'prompt'>;

function sessionOf(parts: SessionParts, { asksAbout }: SessionOptions): Session {
  const { io, workspace, deadline, progress, prompt } = parts;
  const ending = AbortSignal.any([deadline.signal, io.interrupted]);
  const inTime = <T>(work: Promise<T>): Promise<T> => unlessAborted(ending, work);
  const put = async (stream: Io['stdout'], text: string): Promise<void> => {
    if (io.interrupted.aborted) return;
    progress.pause();
    await unlessAborted(io.interrupted, write(stream, text));
    progress.resume();
  };
  const isAsking = ({ servers }: WorkspaceStatus): boolean =>
    prompt !== null && servers.some(({ id, phase }) => phase === 'approving' && isAbout(id, asksAbout));
  const connectAll = async (): Promise<WorkspaceStatus> => {
    let status = await inTime(workspace.connectAll());
    // A yes on the terminal may come after the others have settled: go round again with what it opened.
    while (isAsking(status)) {
      await unlessAborted(io.interrupted, prompt?.idle() ?? Promise.resolve());
      status = await inTime(workspace.connectAll());
    }
    return status;
  };
  return {
    ...parts,
    colour: hasColour(io.stdout, io.env),
    print: (text) => put(io.stdout, text),
    complain: (text) => put(io.stderr, text),
    inTime,
    vetted: () => inTime(statusWhen(workspace, isVetted)),
    answered: async () => {
      await inTime(statusWhen(workspace, isVetted));
      return unlessAborted(
        io.interrupted,
        statusWhen(workspace, (status) => !isAsking(status)),
      );
    },
    connectAll,
  };
}

/** What would run is being read: the card, or the answer that is known already, comes next. */
const isVetted = ({ servers }: WorkspaceStatus): boolean =>
  !servers.some(({ phase, stage }) => phase === 'connecting' && stage === 'approval');

/** The first status of which this is true, or the last one there is. */
function statusWhen(workspace: Workspace, isIt: (status: WorkspaceStatus) => boolean): Promise<WorkspaceStatus> {
  if (isIt(workspace.status())) return Promise.resolve(workspace.status());
  return new Promise((resolve, reject) => {
    const watching = workspace.status$.subscribe({
      next: (status) => {
        if (!isIt(status)) return;
        resolve(status);
        queueMicrotask(() => watching.unsubscribe());
      },
      error: reject,
      complete: () => resolve(workspace.status()),
    });
  });
}

/** A switch for a server that is not there is a slip of the pen; said, not refused. */
async function warnOfUnknown({ flags, workspace, complain }: Session): Promise<void> {
  const known = new Set(workspace.status().servers.map(({ id }) => id));
  const unknown = flags.enable.filter((id) => !known.has(id));
  if (unknown.length > 0)
    await complain(unknown.map((id) => `warning: --enable ${quoted(id)}: no server has this id.\n`).join(''));
}
