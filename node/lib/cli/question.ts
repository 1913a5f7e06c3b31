/** Questions to whoever sits at the terminal. */
import { createInterface } from 'node:readline';

/** How long keys are dropped before a question, in milliseconds: they were meant for the program that ran until now. */
const DROP_MS = 100;

const INTERRUPT = 0x03;

/** Whether somebody can be asked. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Why there is no answer: an interrupt by the keyboard, or the end of the input. */
export type NoAnswer = 'interrupted' | 'ended';

/**
 * Asks until one of the answers is given: by its first letter or its whole word.
 *
 * @param signal fires when nobody is to be asked any more: that counts as the end
 */
export async function ask<T extends string>(
  question: string,
  answers: readonly T[],
  signal: AbortSignal,
): Promise<T | { none: NoAnswer }> {
  const { stdin } = process;
  const over = new AbortController();
  const stop = () => over.abort();
  // The terminal may go away at any time.
  stdin.on('error', stop);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    const interrupted = await dropKeys();
    return interrupted ? { none: 'interrupted' } : await answer(question, answers, over.signal);
  } finally {
    signal.removeEventListener('abort', stop);
    stdin.off('error', stop);
  }
}

async function answer<T extends string>(
  question: string,
  answers: readonly T[],
  over: AbortSignal,
): Promise<T | { none: NoAnswer }> {
  const reader = createInterface({ input: process.stdin, output: process.stderr, terminal: true, historySize: 0 });
  let none: NoAnswer = 'ended';
  reader.once('SIGINT', () => {
    none = 'interrupted';
    reader.close();
  });
  const stop = () => reader.close();
  over.addEventListener('abort', stop, { once: true });
  if (over.aborted) stop();
  try {
    reader.setPrompt(question);
    if (!over.aborted) reader.prompt();
    for await (const line of reader) {
      const given = line.trim().toLowerCase();
      const meant = answers.find((one) => given !== '' && (one === given || one[0] === given));
      if (meant !== undefined) return meant;
      reader.prompt();
    }
    process.stderr.write('\n');
    return { none };
  } finally {
    over.removeEventListener('abort', stop);
    reader.close();
  }
}

/** Drops what was typed: whether an interrupt was among it. In raw mode half a line is there too, and an interrupt comes as a key. */
async function dropKeys(): Promise<boolean> {
  const { stdin } = process;
  let interrupted = false;
  const drop = (keys: Buffer) => {
    interrupted ||= keys.includes(INTERRUPT);
  };
  stdin.setRawMode(true);
  stdin.on('data', drop);
  await new Promise((settle) => setTimeout(settle, DROP_MS));
  stdin.off('data', drop);
  stdin.pause();
  stdin.setRawMode(false);
  return interrupted;
}
