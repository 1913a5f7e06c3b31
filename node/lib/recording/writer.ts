import { systemCode, systemError } from '../bash/system-error.js';
import { node } from '../builtin.js';
import { invalidArgument } from '../errors.js';
import type { Logger } from '../log.js';

/** So much may wait for a disk that does not keep up, in characters. */
const MOST_WAITING = 8 * 1024 * 1024;

/** JSON Lines in a file of their own, written one after the other and never waited for. */
export class Writer {
  readonly #fd: number;
  readonly #path: string;
  readonly #logger: Logger | undefined;
  #waiting: string[] = [];
  #waitingChars = 0;
  #writing = false;
  #idle: (() => void)[] = [];
  #lines = 0;
  #stopped = false;
  #complete = true;

  private constructor(fd: number, path: string, logger: Logger | undefined) {
    this.#fd = fd;
    this.#path = path;
    this.#logger = logger;
  }

  /** A writer for a new file. Throws a TurnbackError. */
  static open(path: string, logger: Logger | undefined): Promise<Writer> {
    return new Promise((resolve, reject) => {
      node.fs.open(path, 'wx', 0o600, (error, fd) => {
        if (error === null) resolve(new Writer(fd, path, logger));
        else reject(refused(error));
      });
    });
  }

  /** Takes a line; it is in the file soon. Never throws. */
  write(line: object): void {
    if (this.#stopped) return;
    const text = `${JSON.stringify(line)}\n`;
    this.#waiting.push(text);
    this.#waitingChars += text.length;
    if (this.#waitingChars > MOST_WAITING) this.#stop(new Error('the disk does not keep up with what is recorded'));
    else this.#pump();
  }

  /** Resolves when everything is in the file, or will never be. */
  async close(): Promise<{ lines: number; complete: boolean }> {
    await new Promise<void>((resolve) => {
      this.#idle.push(resolve);
      this.#pump();
    });
    this.#stopped = true;
    await new Promise<void>((resolve) => {
      node.fs.close(this.#fd, (error) => {
        // Some file systems only say here that they did not write.
        if (error !== null && error !== undefined) this.#fail(error);
        resolve();
      });
    });
    return { lines: this.#lines, complete: this.#complete };
  }

  #pump(): void {
    if (this.#writing) return;
    if (this.#waiting.length === 0) {
      for (const idle of this.#idle.splice(0)) idle();
      return;
    }
    const lines = this.#waiting.length;
    const bytes = Buffer.from(this.#waiting.join(''));
    this.#waiting = [];
    this.#waitingChars = 0;
    this.#writing = true;
    this.#all(bytes, 0, (error) => {
      this.#writing = false;
      if (error === null) this.#lines += lines;
      else this.#stop(error);
      this.#pump();
    });
  }

  /** The system may write less than it was given. */
  #all(bytes: Buffer, from: number, done: (error: Error | null) => void): void {
    node.fs.write(this.#fd, bytes, from, bytes.length - from, null, (error, written) => {
      if (error !== null || from + written >= bytes.length) done(error);
      else this.#all(bytes, from + written, done);
    });
  }

  #stop(error: Error): void {
    this.#stopped = true;
    this.#waiting = [];
    this.#waitingChars = 0;
    this.#fail(error);
  }

  /** Said once: nothing that is recorded is worth more. */
  #fail(error: Error): void {
    if (!this.#complete) return;
    this.#complete = false;
    const message = 'nothing more is recorded: the recording could not be written';
    if (this.#logger !== undefined) this.#logger.warn({ file: this.#path, err: error }, message);
    else process.emitWarning(`${message} (${error.message})`, 'TurnbackWarning');
  }
}

function refused(error: NodeJS.ErrnoException): Error {
  if (systemCode(error) === 'EEXIST') {
    return invalidArgument(
      'options.file',
      'options.file exists, and a recording is never written over another file: pass the path of a new one',
    );
  }
  return systemError('the file of the recording could not be made', 'look at options.file and its directory', error);
}
