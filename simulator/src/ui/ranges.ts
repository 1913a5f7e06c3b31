/** The largest numbers that a scenario may hold (scenario-1.schema.json): what a file may say a field has to take too, or it would call it wrong. */
export const LARGEST = {
  ms: Number.MAX_SAFE_INTEGER,
  timeoutMs: 2 ** 31 - 1,
  keepLast: 2 ** 32 - 1,
  seed: 2 ** 32 - 1,
} as const;
