import { living, look, type Process, procfs, startedWith } from './processes.js';
import { systemCode } from './system-error.js';

/** All processes that a command started, and theirs. */
export interface Tree {
  /** Whether any of them lives; also when that cannot be seen. */
  alive(): boolean;
  /** Sends a signal to every one; to the shell's group, when no others can be seen. */
  signal(name: NodeJS.Signals): void;
  /** Those that live, and whoever else holds the output: what cannot be ended. */
  left(): readonly number[];
  /** What the last look at the processes failed with, if it did: then nobody knows who lives. */
  readonly unseen: unknown;
}

/** Tells of a process whether it holds something. */
export interface Held {
  heldBy(pid: number): boolean;
}

/**
 * The tree of a shell that leads a session of its own, just started with the variable `marker`, which nobody else has.
 *
 * On Linux a process belongs to it that is in the shell's session, or descends from one that belongs to it, or was started
 * with the marker, or is in a session that one of these made, or is younger than the shell and holds its output. So one is missed
 * only if it left the session *and* outlived its parents *and* shed its environment *and* let go of the output, or had another
 * daemon start it, or runs as a user that we cannot signal. Elsewhere the tree is the shell's process group.
 */
export function treeOf(shell: number, marker: string, outputs: readonly Held[]): Tree {
  try {
    const started = procfs() ? look(shell)?.started : undefined;
    if (started !== undefined) return new Descendants(shell, started, marker, outputs);
  } catch {
    // The command runs already: of what cannot be seen at least the group has to be ours.
  }
  return new Group(shell);
}

class Group implements Tree {
  readonly unseen = undefined;
  readonly #group: number;

  constructor(group: number) {
    this.#group = group;
  }

  alive(): boolean {
    return send(-this.#group, 0);
  }

  signal(name: NodeJS.Signals): void {
    send(-this.#group, name);
  }

  left(): readonly number[] {
    return this.alive() ? [this.#group] : [];
  }
}

/** How long a process without any environment may be one of ours that is becoming another program, in milliseconds. */
const UNCLEAR_MS = 500;

class Descendants implements Tree {
  readonly #shell: number;
  readonly #started: number;
  readonly #marker: string;
  readonly #outputs: readonly Held[];
  readonly #hostSession = look(process.pid)?.session;
  /** Those that were seen, by number, with their start: what lost its parent since still belongs to the tree. */
  readonly #seen = new Map<number, number>();
  /** Those that may belong to it, by number and start, with the time at which they were first seen so. */
  readonly #unclear = new Map<string, number>();
  #unseen: unknown;

  constructor(shell: number, started: number, marker: string, outputs: readonly Held[]) {
    this.#shell = shell;
    this.#started = started;
    this.#marker = marker;
    this.#outputs = outputs;
  }

  get unseen(): unknown {
    return this.#unseen;
  }

  alive(): boolean {
    // Twice: `/proc` is not read in one instant, and who is started while it is read can be missed once.
    return this.#look(() => this.#members().length > 0 || this.#perhaps() || this.#members().length > 0) ?? true;
  }

  signal(name: NodeJS.Signals): void {
    const members = this.#look(() => this.#members());
    const inGroup = (member: Process) => member.group === this.#shell;
    // The group in one call, so that none of it can start another in between.
    if (members === undefined || members.some(inGroup)) send(-this.#shell, name);
    for (const { pid } of (members ?? []).filter((member) => !inGroup(member))) send(pid, name);
  }

  left(): readonly number[] {
    const seen = this.#look(() => {
      const pids = new Set(this.#members().map(({ pid }) => pid));
      // Also one that is older than the shell and was handed the output: it is not ours to end, but it has to be told of.
      for (const { pid } of living()) if (pid !== process.pid && this.#holds(pid)) pids.add(pid);
      return [...pids];
    });
    return seen ?? (send(-this.#shell, 0) ? [this.#shell] : []);
  }

  /** What a look shows; `undefined` when there can be none. */
  #look<T>(at: () => T): T | undefined {
    try {
      const seen = at();
      this.#unseen = undefined;
      return seen;
    } catch (error) {
      this.#unseen = error;
      return undefined;
    }
  }

  #holds(pid: number): boolean {
    return this.#outputs.some((output) => output.heldBy(pid));
  }

  /** Everyone who can come from the shell: what is older cannot, and threads of the kernel have no session. */
  #others(): Process[] {
    return living().filter((one) => one.started >= this.#started && one.session !== 0 && one.pid !== process.pid);
  }

  /** Whether there is anyone of whom it cannot be said yet. */
  #perhaps(): boolean {
    const now = performance.now();
    return this.#others().some(({ pid, started }) => {
      if (startedWith(pid, this.#marker) !== 'unclear') return false;
      const name = `${pid} ${started}`;
      const since = this.#unclear.get(name) ?? now;
      this.#unclear.set(name, since);
      return now - since < UNCLEAR_MS;
    });
  }

  #members(): Process[] {
    let others = this.#others();
    // While anyone is in the shell's session or group, its number is not used again.
    const reused = others.some(({ pid, started }) => pid === this.#shell && started !== this.#started);
    const members: Process[] = [];
    const pids = new Set<number>();
    const sessions = new Set<number>(reused ? [] : [this.#shell]);
    const belongs = ({ pid, parent, session, started }: Process) =>
      sessions.has(session) ||
      pids.has(parent) ||
      this.#seen.get(pid) === started ||
      startedWith(pid, this.#marker) === 'yes';
    const holders = new Set(others.filter((one) => !belongs(one) && this.#holds(one.pid)).map(({ pid }) => pid));
    for (;;) {
      const found = others.filter((one) => belongs(one) || holders.has(one.pid));
      if (found.length === 0) break;
      for (const one of found) {
        members.push(one);
        pids.add(one.pid);
        // Who only holds the output may have opened it from a session that is not ours.
        if (one.session !== this.#hostSession && !holders.has(one.pid)) sessions.add(one.session);
        this.#seen.set(one.pid, one.started);
      }
      others = others.filter(({ pid }) => !pids.has(pid));
    }
    return members;
  }
}

/** Sends a signal, or with 0 only looks; whether there was anyone. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    // It has ended by itself, or runs as another user: then it is there, and nothing of ours can end it.
    const code = systemCode(error);
    if (code === 'ESRCH') return false;
    if (code === 'EPERM') return true;
    throw error;
  }
}
