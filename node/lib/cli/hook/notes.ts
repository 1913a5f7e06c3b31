import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import type { Logger } from '../../log.js';

/** What earlier calls of a prompt noted. */
export interface Known {
  /** A call was let through: it may have changed something. */
  ran: boolean;
  /** How many checkpoints were begun and not finished since the last one that was. */
  attempts: number;
  /** The prompt's checkpoint, and where it lies in its store: when it is deleted, it protects nothing any more. */
  checkpoint?: { id: string; path: string; late: boolean };
}

const NOTHING: Known = Object.freeze({ ran: false, attempts: 0 });
/** Where nothing can be known, something may have run: a checkpoint is called late rather than said to be of the turn's beginning (G6). */
const UNKNOWN: Known = Object.freeze({ ran: true, attempts: 0 });

/** Notes of prompts that nothing was heard of for so long are removed, in milliseconds (G8). */
const KEPT_MS = 24 * 60 * 60 * 1000;

/**
 * What a hook, whose process ends with each call, has to remember of one prompt in one directory. Where it cannot be read or written, the
 * checkpoints are made all the same, one too many rather than one too few (G5): that is warned of once.
 */
export class Notes {
  /** What tells this prompt in this directory and store from all others: letters and digits. */
  readonly name: string;
  readonly #logger: Logger;
  #warned = false;

  constructor(logger: Logger, ...about: string[]) {
    this.#logger = logger;
    this.name = createHash('sha256').update(JSON.stringify(about)).digest('hex');
  }

  /** What is known. A note that cannot be made sense of, or not be read, says that something ran. */
  read(): Known {
    try {
      return parsed(readFileSync(this.#file, 'utf8'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return NOTHING;
      this.#warn(error);
      return UNKNOWN;
    }
  }

  /** The checkpoint that is known, if it is still there. */
  static standing({ checkpoint }: Known): Known['checkpoint'] {
    return checkpoint !== undefined && existsSync(checkpoint.path) ? checkpoint : undefined;
  }

  /** Whether it could be noted. If not, what was noted before says no more than that something ran. */
  write(known: Known): boolean {
    try {
      this.#replace(JSON.stringify(known));
      return true;
    } catch (error) {
      this.#warn(error);
      this.#empty();
      return false;
    }
  }

  #replace(text: string): void {
    const file = this.#file;
    makeDirectory(dirname(file));
    if (!existsSync(file)) this.#sweep();
    const partial = `${file}.${process.pid}`;
    try {
      writeFileSync(partial, text, { mode: 0o600 });
      renameSync(partial, file);
    } catch (error) {
      tried(() => rmSync(partial, { force: true }));
      throw error;
    }
  }

  /** That needs no space. An attempt that is noted and is none, say, would be held against the prompt (G6). */
  #empty(): void {
    tried(() => truncateSync(this.#file));
  }

  #warn(error: unknown): void {
    if (this.#warned) return;
    this.#warned = true;
    this.#logger.warn(
      { err: error },
      'what was done in this prompt cannot be noted: each of its calls gets a checkpoint, called late, until the notes can be written again',
    );
  }

  get #file(): string {
    return join(notesDirectory(), this.name);
  }

  #sweep(): void {
    const before = Date.now() - KEPT_MS;
    const directory = notesDirectory();
    for (const name of readdirSync(directory)) {
      const file = join(directory, name);
      const status = statSync(file, { throwIfNoEntry: false });
      if (status?.isFile() && status.mtimeMs < before) rmSync(file, { force: true });
    }
  }
}

/** What is no use where a note could not be written: that has been found already, and is what is told. */
function tried(work: () => void): void {
  try {
    work();
  } catch {
    // Most often there is nothing of it.
  }
}

/** One after the other: Node's recursive call never ends where a parent is there and takes no directory, as in `/proc`. */
function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectory(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Beside the default store. */
function notesDirectory(): string {
  const { XDG_STATE_HOME: state } = process.env;
  const base = state !== undefined && isAbsolute(state) ? state : join(homedir(), '.local', 'state');
  return join(base, 'turnback-hooks');
}

function parsed(text: string): Known {
  try {
    const { ran, attempts, checkpoint } = JSON.parse(text) as Known;
    if (typeof ran !== 'boolean' || !Number.isSafeInteger(attempts)) return UNKNOWN;
    if (checkpoint === undefined) return { ran, attempts };
    const { id, path, late } = checkpoint;
    if (typeof id !== 'string' || typeof path !== 'string' || typeof late !== 'boolean') return { ran, attempts };
    return { ran, attempts, checkpoint: { id, path, late } };
  } catch {
    // Cut short, say: then a call was about to be let through.
    return UNKNOWN;
  }
}
