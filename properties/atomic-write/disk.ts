import type * as FsPromises from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

/** The operation, counted from 1, that goes wrong, and how: it fails with that error, or the process dies in the middle of it. */
export interface Fault {
  readonly at: number;
  readonly how: 'ENOSPC' | 'EIO' | 'EMFILE' | 'crash';
}

type Outcome = 'written' | 'overtaken' | 'failed' | 'crashed';
export type Fs = typeof FsPromises;
type Work = (...args: never[]) => Promise<unknown>;

/** Turns of the event loop that a slow disk takes to make sure of a file. */
const SLOW_TURNS = 5;

let fault: Fault | null = null;
let isSlow = false;
let isOn = false;
let made = 0;
let log: string[] = [];
let onCrash: () => void = () => undefined;
let isCrashed = false;
/** What the process holds open; its end closes them. */
const handles = new Set<FileHandle>();

/** The real file system, which goes wrong when it is told to. */
export const Disk = {
  /** What was done since the last time that something was told to go wrong. */
  get log(): readonly string[] {
    return log;
  },

  slow(): void {
    isSlow = true;
  },

  heal(): void {
    [fault, isSlow, isOn] = [null, false, false];
  },

  /** Runs `work` with this fault; after a crash nothing of it goes on. */
  async during(what: Fault | null, work: () => Promise<boolean>): Promise<Outcome> {
    [fault, isOn, made, log, isCrashed] = [what, true, 0, [], false];
    const crash = new Promise<Outcome>((resolve) => {
      onCrash = () => resolve('crashed');
    });
    const end = work().then(
      (isWritten): Outcome => (isWritten ? 'written' : 'overtaken'),
      (): Outcome => 'failed',
    );
    const outcome = await Promise.race([crash, end]);
    [fault, isOn] = [null, false];
    for (const handle of handles) await handle.close().catch(() => undefined);
    handles.clear();
    return outcome;
  },
};

/** Its functions, each counted as one operation while a fault is waited for. */
export function faultyFs(fs: Fs): Fs {
  const counted = <T extends Work>(name: string, work: T): T =>
    ((...args: Parameters<T>) => operate(name, () => work(...args))) as T;
  return {
    ...fs,
    mkdir: counted('mkdir', fs.mkdir),
    mkdtemp: counted('mkdtemp', fs.mkdtemp),
    realpath: counted('realpath', fs.realpath),
    access: counted('access', fs.access),
    stat: counted('stat', fs.stat),
    readFile: counted('readFile', fs.readFile),
    readdir: counted('readdir', fs.readdir),
    rename: counted('rename', fs.rename),
    // What takes its own things away is not made to fail: it says nothing of it, and the next write does it again.
    rm: (...args: Parameters<Fs['rm']>) => (isOn && isCrashed ? never() : fs.rm(...args)),
    open: async (...args: Parameters<Fs['open']>) => {
      const opened = await operate('open', async () => {
        const handle = await fs.open(...args);
        return isOn ? faultyHandle(handle) : handle;
      });
      return opened as FileHandle;
    },
  };
}

function faultyHandle(handle: FileHandle): FileHandle {
  handles.add(handle);
  const writeFile = handle.writeFile.bind(handle);
  const sync = handle.sync.bind(handle);
  handle.writeFile = (content, options) =>
    operate(
      'writeFile',
      () => writeFile(content, options),
      // What failed half way has written a half.
      () => writeFile(String(content).slice(0, String(content).length / 2), options),
    ) as Promise<void>;
  handle.sync = async () => {
    await operate('sync', async () => {
      for (let turns = isSlow ? SLOW_TURNS : 0; turns > 0; turns -= 1) await new Promise((resolve) => setImmediate(resolve));
      await sync();
    });
    log.push('sync ends');
  };
  return handle;
}

async function operate(name: string, work: () => Promise<unknown>, half?: () => Promise<unknown>): Promise<unknown> {
  if (!isOn) return work();
  if (isCrashed) return never();
  made += 1;
  log.push(name);
  if (fault === null || made !== fault.at) return work();
  await half?.();
  if (fault.how !== 'crash') throw Object.assign(new Error(`${fault.how}: ${name}`), { code: fault.how });
  // The system may have done it, or not, when the process dies; here it has every other time.
  if (half === undefined && made % 2 === 0) await work().catch(() => undefined);
  isCrashed = true;
  onCrash();
  return never();
}

const never = (): Promise<never> => new Promise(() => undefined);
