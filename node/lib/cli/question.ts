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
  if (await interruptedMeanwhile()) return { none: 'interrupted' };
  const reader = createInterface({ input: process.stdin, output: process.stderr, terminal: true, historySize: 0 });
  let none: NoAnswer = 'ended';
  reader.once('SIGINT', () => {
    none = 'interrupted';
    reader.close();
  });
  const stop = () => reader.close();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    reader.setPrompt(question);
    reader.prompt();
    for await (const line of reader) {
      const given = line.trim().toLowerCase();
      const meant = answers.find((answer) => given !== '' && (answer === given || answer[0] === given));
      if (meant !== undefined) return meant;
      reader.prompt();
    }
    process.stderr.write('\n');
    return { none };
  } finally {
    signal.removeEventListener('abort', stop);
    reader.close();
  }
}

/** In raw mode half a line is there to be dropped too; an interrupt comes as a key then. */
async function interruptedMeanwhile(): Promise<boolean> {
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
