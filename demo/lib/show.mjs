// How the demo talks: numbered steps with their times, headings, lists.
import { bold, clip, count, dim, duration, green, red, width } from '../../scripts/lib/text.mjs';

const COLUMN = 70;

/** @param {(text: string) => void} write */
export function createShow(write) {
  const terminal = Boolean(process.stdout.isTTY) && !process.env.CI;
  let number = 0;

  /** @param {string} left @param {string} right */
  const pair = (left, right) => `${left}${' '.repeat(Math.max(1, COLUMN - width(left)))}${right.padStart(10)}\n`;

  return {
    /** @param {string} text */
    title: (text) => write(`${bold(text)}\n\n`),
    /** @param {string} text */
    heading: (text) => write(`\n${bold(text)}\n`),
    /** @param {string} [text] */
    line: (text = '') => write(`${text}\n`),
    /** @param {string} name @param {string} value */
    fact: (name, value) => write(`  ${name.padEnd(12)}${value}\n`),
    /** @param {string} text */
    detail: (text) => write(dim(`      ${text}\n`)),
    /** @param {string} what @param {number} ms @param {string} said @param {boolean} failed */
    command: (what, ms, said, failed) => {
      write(pair(`    $ ${clip(what, COLUMN - 8)}`, duration(ms)));
      if (said) write(`${failed ? red('      ! ') : '        '}${dim(clip(said, 100))}\n`);
    },
    /** @param {boolean} good @param {string} text */
    check: (good, text) => write(`  ${good ? green('ok  ') : red('FAIL')}  ${text}\n`),
    /**
     * Does one step and prints how long it took.
     * @template T
     * @param {string} what
     * @param {() => Promise<T>} work
     * @param {(value: T) => string} [result] what to say about its result
     * @returns {Promise<{ value: T, ms: number }>}
     */
    async step(what, work, result) {
      const head = `${String(++number).padStart(3)}. ${what}`;
      if (terminal) process.stdout.write(`${head} …`);
      const from = performance.now();
      try {
        const value = await work();
        const ms = performance.now() - from;
        if (terminal) process.stdout.write('\r\u001b[2K');
        write(pair(head, duration(ms)));
        if (result) write(dim(`     ${result(value)}\n`));
        return { value, ms };
      } catch (error) {
        if (terminal) process.stdout.write('\r\u001b[2K');
        write(pair(head, red('failed')));
        throw error;
      }
    },
  };
}

/** @param {Map<string, number>} kinds such as "3 missing, 1 mode" */
export const kindsText = (kinds) =>
  [...kinds]
    .sort((a, b) => b[1] - a[1])
    .map(([kind, n]) => `${count(n)} ${kind}`)
    .join(', ');

/** A name with whatever could disturb a terminal escaped. @param {string} path */
export const printable = (path) =>
  path.replace(/[\p{Cc}\p{Bidi_Control}]/gu, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
