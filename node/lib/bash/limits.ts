/** Every duration and size that `runBash` decides by itself, in one table. */
export const LIMITS = {
  /** From SIGTERM to SIGKILL, in milliseconds. */
  graceMs: 1_000,
  /** How long what holds the output may go on after the shell has ended, in milliseconds. */
  drainMs: 1_000,
  /** How long SIGKILL is repeated for what appears anew, in milliseconds. */
  killMs: 5_000,
  /** From the end of all processes to the end of their output, in milliseconds. */
  closeMs: 2_000,
  /** What `maxOutputBytes` is if it is not given. */
  outputBytes: 1024 * 1024,
  leastOutputBytes: 256,
  mostOutputBytes: 256 * 1024 * 1024,
  /** The longest single argument or variable that Linux takes, in bytes without the NUL after it. */
  argumentBytes: 131_071,
  turnIdBytes: 200,
  sandboxIdBytes: 200,
} as const;
