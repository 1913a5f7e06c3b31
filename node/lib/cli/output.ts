import type { Logger } from '../log.js';
import type { Progress } from '../types.js';
import { json } from './json.js';
import { count, printableMessage, proseIn, size, type Typed, typedIn } from './text.js';

/** How a command prints. */
export interface Style {
  json: boolean;
  quiet: boolean;
  /** The store that the command line named. */
  store?: string | undefined;
}

/** Warnings of the engine that no command has words of its own for: what an agent did to a repository that it shares (S4). */
const TOLD_BY_THE_ENGINE = new Set(['turnback_engine::sandbox::git_worktree::settings']);

/** Where a command prints to. */
export class Output {
  readonly #style: Style;

  constructor(style: Style) {
    this.#style = style;
  }

  get quiet(): boolean {
    return this.#style.quiet;
  }

  /** A command as it is typed, in the store of this one. */
  get typed(): Typed {
    return typedIn(this.#style.store);
  }

  /** Prose of the library: the commands in it are typed in the store of this one. */
  prose(text: string): string {
    return proseIn(this.#style.store, text);
  }

  get json(): boolean {
    return this.#style.json;
  }

  /**
   * Lines for people beside another program's output: on a terminal's standard output, otherwise on stderr, so that what the program
   * prints stays its own. Lines must be printable already.
   */
  tell(lines: string[]): void {
    if (this.#style.json || this.#style.quiet || lines.length === 0) return;
    (process.stdout.isTTY ? process.stdout : process.stderr).write(`${lines.join('\n')}\n`);
  }

  /**
   * The answer: with `--json` the document, with `--quiet` only the lines that a script needs, otherwise those for people.
   * Lines must be printable already.
   */
  answer(document: unknown, lines: () => string[], essential: () => string[]): void {
    if (this.#style.json) process.stdout.write(`${json(document)}\n`);
    else this.#lines(this.#style.quiet ? essential() : lines());
  }

  #lines(lines: string[]): void {
    if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
  }

  /** A remark for people, on stderr. The text must be printable already. */
  note(text: string): void {
    if (!this.#style.quiet) process.stderr.write(`turnback: ${text}\n`);
  }

  /** The library's warnings, one line each on stderr. */
  logger(): Logger {
    const tell = ({ target: _, ...fields }: Record<string, unknown>, message: string) => {
      const told = Object.entries(fields).map(
        ([key, value]) => `${key}: ${value instanceof Error ? value.message : value}`,
      );
      process.stderr.write(`turnback: warning: ${printableMessage(this.prose(`${message} (${told.join(', ')})`))}\n`);
    };
    const warn = (fields: object, message: string) => {
      const target = 'target' in fields ? fields.target : undefined;
      if (typeof target !== 'string' || TOLD_BY_THE_ENGINE.has(target)) tell({ ...fields }, message);
    };
    return { debug() {}, info() {}, warn, error: (fields: object, message: string) => tell({ ...fields }, message) };
  }

  /** A progress line on a terminal's stderr, from the second second on; silent everywhere else. */
  progress(): { onProgress?: (progress: Progress) => void; end: () => void } {
    if (!process.stderr.isTTY || this.#style.quiet) return { end() {} };
    const start = Date.now();
    let shown = false;
    const onProgress = ({ phase, done, total, bytes }: Progress) => {
      if (Date.now() - start < 1000) return;
      shown = true;
      const of =
        total === undefined ? count(done, 'path') : `${count(done, 'path')} of ${total.toLocaleString('en-US')}`;
      process.stderr.write(`\r\x1b[K${phase}: ${of}, ${size(bytes)}`);
    };
    return { onProgress, end: () => void (shown && process.stderr.write('\r\x1b[K')) };
  }
}
