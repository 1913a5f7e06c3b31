/** Long text on a terminal, page by page. */
import { type ChildProcess, spawn } from 'node:child_process';

/** What a shell answers for a program that is not there, or cannot be run. */
const CANNOT_RUN = [126, 127];

/** `less` shows colours, ends by itself when all of it fits, and leaves it on the screen. */
const LESS = 'FRX';

/**
 * Prints to standard output: on a terminal by `$PAGER`, by `less` where that is not set. An empty one and `cat` page nothing, and where
 * the pager cannot be run the text is printed as it is.
 *
 * @param started hears of the pager: an interrupt is for it
 */
export async function page(text: string, started: (pager: ChildProcess) => void = () => {}): Promise<void> {
  const pager = process.env.PAGER ?? 'less';
  const pages = process.stdout.isTTY && process.env.TERM !== 'dumb' && !['', 'cat'].includes(pager.trim());
  if (!pages || !(await shownBy(pager, text, started))) process.stdout.write(text);
}

/** Whether a pager could be run. */
function shownBy(pager: string, text: string, started: (pager: ChildProcess) => void): Promise<boolean> {
  // The pager's to answer, as in every shell: `less` goes back to its prompt.
  const ignore = () => {};
  process.on('SIGINT', ignore);
  return new Promise<boolean>((settle) => {
    const child = spawn('/bin/sh', ['-c', pager], {
      stdio: ['pipe', 'inherit', 'inherit'],
      env: { ...process.env, LESS: process.env.LESS ?? LESS, LV: process.env.LV ?? '-c' },
    });
    started(child);
    child.once('error', () => settle(false));
    child.once('close', (code) => settle(!CANNOT_RUN.includes(code ?? 0)));
    // Whoever has seen enough does not read to the end.
    child.stdin.once('error', () => {});
    child.stdin.end(text);
  }).finally(() => process.off('SIGINT', ignore));
}
