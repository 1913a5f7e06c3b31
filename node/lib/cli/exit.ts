/** What a script can go by. */
export const EXIT = {
  /** All of it was done. */
  done: 0,
  /** It failed. */
  failed: 1,
  /** The command line cannot be right. */
  usage: 2,
  /** Done in part: something is not covered or not restorable, and it is listed. `--allow-partial` makes it 0. */
  partial: 3,
  /** Paths were changed again since: nothing was done, and they are listed. */
  conflicts: 4,
} as const;

/** One of the exit codes. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A command line that cannot be right; `hint` says what can. */
export class UsageError extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}
