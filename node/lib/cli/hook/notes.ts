import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';

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

/** Notes of prompts that nothing was heard of for so long are removed, in milliseconds (G8). */
const KEPT_MS = 24 * 60 * 60 * 1000;

/** What a hook, whose process ends with each call, has to remember of one prompt in one directory. */
export class Notes {
  /** What tells this prompt in this directory and store from all others: letters and digits. */
  readonly name: string;
  readonly #directory = notesDirectory();

  constructor(...about: string[]) {
    this.name = createHash('sha256').update(JSON.stringify(about)).digest('hex');
  }

  /** What is known. A note that cannot be made sense of says that something ran. */
  read(): Known {
    let text: string;
    try {
      text = readFileSync(this.#file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return NOTHING;
      throw error;
    }
    return parsed(text);
  }

  /** The checkpoint that is known, if it is still there. */
  static standing({ checkpoint }: Known): Known['checkpoint'] {
    return checkpoint !== undefined && existsSync(checkpoint.path) ? checkpoint : undefined;
  }

  write(known: Known): void {
    makeDirectory(this.#directory);
    if (!existsSync(this.#file)) this.#sweep();
    const partial = `${this.#file}.${process.pid}`;
    writeFileSync(partial, JSON.stringify(known), { mode: 0o600 });
    renameSync(partial, this.#file);
  }

  get #file(): string {
    return join(this.#directory, this.name);
  }

  #sweep(): void {
    const before = Date.now() - KEPT_MS;
    for (const name of readdirSync(this.#directory)) {
      const file = join(this.#directory, name);
      const status = statSync(file, { throwIfNoEntry: false });
      if (status?.isFile() && status.mtimeMs < before) rmSync(file, { force: true });
    }
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
    if (typeof ran !== 'boolean' || !Number.isSafeInteger(attempts)) return { ran: true, attempts: 0 };
    if (checkpoint === undefined) return { ran, attempts };
    const { id, path, late } = checkpoint;
    if (typeof id !== 'string' || typeof path !== 'string' || typeof late !== 'boolean') return { ran, attempts };
    return { ran, attempts, checkpoint: { id, path, late } };
  } catch {
    // Cut short, say: then a call was about to be let through.
    return { ran: true, attempts: 0 };
  }
}
