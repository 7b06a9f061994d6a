import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Whether anybody of a process group runs, on Linux. A process that has ended and was not waited for, as with a PID 1 that
 * reaps nobody, can be signalled like a living one; only `/proc` tells them apart. What cannot be read counts as running.
 */
export class ProcGroup {
  readonly #groupId: number;
  readonly #proc: string;
  /** Members that ran when last looked at: while one of them does, the others need no look. */
  #known: string[] = [];

  constructor(groupId: number, proc = '/proc') {
    this.#groupId = groupId;
    this.#proc = proc;
  }

  isRunning(): boolean {
    if (this.#known.some((pid) => this.#stateOf(pid) === 'runs')) return true;
    // A member may have started another and ended while we looked, so a group is gone only if it is twice.
    return this.#look() || this.#look();
  }

  #look(): boolean {
    let ended = 0;
    this.#known = [];
    for (const entry of listProc(this.#proc)) {
      const state = this.#stateOf(entry);
      if (state === 'runs') this.#known.push(entry);
      else if (state === 'ended') ended += 1;
    }
    return this.#known.length > 0 || ended === 0;
  }

  #stateOf(pid: string): 'runs' | 'ended' | 'none' {
    const stat = readStat(join(this.#proc, pid, 'stat'));
    // The name stands in parentheses, and may hold some itself.
    const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 3);
    if (Number(group) !== this.#groupId) return 'none';
    return state === 'Z' || state === 'X' ? 'ended' : 'runs';
  }
}

function listProc(proc: string): string[] {
  try {
    return readdirSync(proc).filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function readStat(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
