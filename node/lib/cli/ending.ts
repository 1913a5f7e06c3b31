import { constants } from 'node:os';
import { isatty } from 'node:tty';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;
/** Those that a terminal sends by its keys, to each process of the foreground. */
const TERMINAL = ['SIGINT', 'SIGQUIT'] as const;

/** How long the store may take to close, in milliseconds. Work that was given up can hang in the kernel for as long as it likes. */
export const CLOSE_MS = 2000;

/** How long after a program that an interrupt ended this process's own copy of that interrupt may come, in milliseconds. */
const COPY_MS = 200;

/**
 * Requests to end, for a command that runs another program: before it starts they keep it from starting, then it gets them, and after it
 * they are for what is still to be done.
 */
export class Requests {
  #controller = new AbortController();
  #first: NodeJS.Signals | undefined;
  #passedOn: NodeJS.Signals | undefined;
  #program: { kill(signal: NodeJS.Signals): unknown } | undefined;
  /** The program's interrupts by the terminal of which this process has had its copy. */
  readonly #copies = new Set<NodeJS.Signals>();
  /** The copy that is still to come, and until when. */
  #due: { signal: NodeJS.Signals; until: number } | undefined;
  readonly #listener = (signal: NodeJS.Signals) => this.#heard(signal);

  constructor() {
    for (const signal of SIGNALS) process.on(signal, this.#listener);
  }

  /** Fires with the first request that comes before the program has started, or after it has ended. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The exit code that a shell has for that request; `undefined` while there is none. */
  get code(): number | undefined {
    return this.#first === undefined ? undefined : codeOf(this.#first);
  }

  /** From here on it is the program's. */
  passOnTo(program: { kill(signal: NodeJS.Signals): unknown }): void {
    this.#program = program;
  }

  /**
   * The program is over. One that an interrupt ended may be seen to end before this process has had its own copy of the interrupt, which
   * the terminal sent to both: that copy is the program's as well.
   *
   * @param exitCode as a shell has it
   */
  ended(exitCode = 0): void {
    const signal = TERMINAL.find((name) => codeOf(name) === exitCode);
    if (signal !== undefined && !this.#copies.has(signal) && hasTerminal()) {
      this.#due = { signal, until: performance.now() + COPY_MS };
    }
    this.#copies.clear();
    this.#program = undefined;
    this.#first = undefined;
    this.#controller = new AbortController();
  }

  /** Whether somebody asked this process to end while the program ran. An interrupt by the keyboard is for the program alone. */
  get passedOn(): boolean {
    return this.#passedOn !== undefined;
  }

  /** They end this process again, as usual. */
  over(): void {
    for (const signal of SIGNALS) process.off(signal, this.#listener);
  }

  #heard(signal: NodeJS.Signals): void {
    if (this.#program !== undefined) {
      // A terminal sends its interrupts to each process of the foreground, so that the program has this one already.
      if (TERMINAL.some((name) => name === signal) && hasTerminal()) {
        this.#copies.add(signal);
        return;
      }
      this.#passedOn = signal;
      this.#program.kill(signal);
    } else if (this.#isCopy(signal)) {
      this.#due = undefined;
    } else if (this.#first === undefined) {
      this.#first = signal;
      this.#controller.abort(new Error(`interrupted by ${signal}`));
    } else {
      // Who asks twice does not want to wait for the store either.
      process.exit(codeOf(signal));
    }
  }

  #isCopy(signal: NodeJS.Signals): boolean {
    return this.#due?.signal === signal && performance.now() <= this.#due.until;
  }
}

/** What a shell answers for a program that a signal ended. */
export function codeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** Whether any of the standard streams is a terminal: the others may be pipes or files. */
function hasTerminal(): boolean {
  return [0, 1, 2].some((descriptor) => isatty(descriptor));
}
