/** What `runBash` takes and gives. */
import type { Batch, Guard, Verdict } from '../guard/index.js';

/** What `runBash` needs of a sandbox. */
export interface CommandSandbox {
  /** What the guard knows it by. */
  readonly id: string;
  /** Its directory; entering makes it ACTIVE (S2). */
  enter(): Promise<string>;
}

/**
 * What `runBash` needs of a guard. If `beforeBatch` rejects, the command does not run, and the guard has given the turn's
 * slot back itself; `release` is called once if the command did not run after the guard let it pass (G8, F29). If there is an
 * `ended`, it is called once the command that ran is over: a guard that records has one.
 */
export type CommandGuard = Pick<Guard, 'beforeBatch' | 'release'> & { ended?(batch: Batch): void };

/** A piece of output, as it comes. It may end in the middle of a character. */
export interface OutputChunk {
  readonly stream: 'stdout' | 'stderr';
  readonly data: Uint8Array;
}

/** What {@link runBash} takes. */
export interface RunBashOptions {
  /** A sandbox, or a directory to work in as it is. A relative path is resolved at the call, by the working directory. */
  sandbox: CommandSandbox | string;
  /** What the shell is to do: one argument of `bash -c`, 1 to 131,071 bytes, never spliced into other text. */
  command: string;
  /** Asked directly before the command (G13). Without one no checkpoint is made. */
  guard?: CommandGuard | undefined;
  /** The turn that this command belongs to, 1 to 200 bytes. Without one the guard makes no checkpoint (G7). */
  turnId?: string | undefined;
  /** How long the command may take, from its own start to the end of its output, in milliseconds. Without one: as long as it likes. */
  timeoutMs?: number | undefined;
  /** The longest `stdout` and the longest `stderr`, each, in bytes of UTF-8: 256 bytes to 256 MiB, 1 MiB by default. */
  maxOutputBytes?: number | undefined;
  /** Variables over those of this process; `undefined` takes one away. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Ends the command and all its processes. */
  signal?: AbortSignal | undefined;
  /** Hears of all output at once, also of what is left out of the result. If it throws, there is one process warning. */
  onOutput?: ((chunk: OutputChunk) => void) | undefined;
}

/** What became of a command. */
export interface RunBashResult {
  /** The shell's exit code; `null` when a signal ended it. */
  readonly exitCode: number | null;
  /** The signal that ended the shell, for example `SIGTERM`. */
  readonly signal: string | null;
  /** Well-formed text: bytes that are no UTF-8 are U+FFFD. Too long, its middle is left out and a line says how much. */
  readonly stdout: string;
  /** As `stdout`. */
  readonly stderr: string;
  /** Whether `timeoutMs` ended it. */
  readonly timedOut: boolean;
  /** Whether something was left out of `stdout` or `stderr`. */
  readonly truncated: boolean;
  /** Whether processes still held the output a second after the shell had ended, and all of them were ended. */
  readonly endedLeftovers: boolean;
  /** The processes that were to be ended and live on, by number: another user's, those that hang in the kernel, or not the command's own. */
  readonly notEnded: readonly number[];
  /** Whether somebody still held the output when it was given up: what they write is not in it. They are in `notEnded`, if they can be seen. */
  readonly outputHeld: boolean;
  /** From the start of the command to the end of its output, in milliseconds; the guard's time is not in it. */
  readonly durationMs: number;
  /** What the guard said. */
  readonly checkpoint?: Verdict;
}
