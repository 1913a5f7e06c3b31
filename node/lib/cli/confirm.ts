import { createInterface } from 'node:readline/promises';

/** Asks a person; `false` where nobody can answer. The question goes to stderr, so that the output stays the command's. */
export async function confirmed(question: string, signal: AbortSignal): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`turnback: ${question} [y/N] `, { signal })).trim());
  } finally {
    terminal.close();
  }
}
