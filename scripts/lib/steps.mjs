// Runs the steps of a command one after the other: says what it does, shows that it is alive, shows all output of a
// step that fails, and ends with a table.
import { spawn } from 'node:child_process';
import { none, sentence, sum } from './counts.mjs';
import { bold, clip, count, dim, duration, green, red, table, yellow } from './text.mjs';

/** @typedef {import('./counts.mjs').Counts} Counts */
/** @typedef {'ok' | 'up to date' | 'failed' | 'not run'} Outcome */
/** @typedef {{ name: string, outcome: Outcome, ms: number, counts?: Counts | undefined, note?: string | undefined }} Result */
/**
 * @typedef {object} Step
 * @property {string} name what it is, for people
 * @property {string[]} command the program and its arguments
 * @property {Record<string, string>} [env] added to the environment
 * @property {{ fresh(): boolean, begin(): void, remember(): void }} [stamp] tells whether there is anything to do
 * @property {(output: string) => Counts | undefined} [counts] reads the numbers of tests from the output
 * @property {(output: string) => string | undefined} [note] a remark for the table
 * @property {(output: string) => string[]} [refused] what makes a step fail that ended well
 * @property {string[]} [needs] names of steps without which this one makes no sense
 */

const HEARTBEAT_MS = 15_000;

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();
let interrupted = false;
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(signal, () => {
    // On Ctrl-C the terminal has told the children as well; a signal from elsewhere has not.
    interrupted = true;
    for (const child of running) child.kill(signal);
    if (running.size === 0) process.exit(130);
  });
}

/**
 * @param {string[]} command
 * @param {Record<string, string>} env
 * @param {(line: string) => void} onLine
 * @returns {Promise<{ code: number, output: string }>}
 */
function call([program, ...args], env, onLine) {
  return new Promise((resolve) => {
    const child = spawn(String(program), args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    let output = '';
    /** @param {string} chunk */
    const take = (chunk) => {
      output += chunk;
      const lines = chunk.split(/[\r\n]+/).filter((line) => line.trim() !== '');
      const last = lines.at(-1);
      if (last !== undefined) onLine(last.trim());
    };
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', take);
    child.on('error', (error) => {
      running.delete(child);
      resolve({ code: 1, output: `${output}cannot run ${program}: ${error.message}\n` });
    });
    child.on('close', (code, signal) => {
      running.delete(child);
      resolve({ code: code ?? 1, output: signal ? `${output}ended by ${signal}\n` : output });
    });
  });
}

/** @param {string[]} command as a person would type it */
const typed = (command) =>
  command
    .map((word, index) => {
      if (word === process.execPath) return 'node';
      if (index === 1 && /npm-cli\.c?js$/.test(word)) return 'npm';
      return word;
    })
    .join(' ')
    .replace(/^node npm /, 'npm ');

/** @param {string} title what the command is for @param {number} total how many steps it has */
export function createSteps(title, total) {
  const terminal = Boolean(process.stdout.isTTY) && !process.env.CI;
  const started = performance.now();
  /** @type {Result[]} */
  const results = [];
  process.stdout.write(`${bold(title)}\n\n`);

  /** @param {string} name @param {string} doing */
  function begin(name, doing) {
    const head = `[${String(results.length + 1).padStart(String(total).length)}/${total}] ${name}`;
    const from = performance.now();
    let last = '';
    const draw = () => {
      const text = `${head}  ${duration(Math.round((performance.now() - from) / 1000) * 1000)}  ${last || doing}`;
      process.stdout.write(`\r\u001b[2K${clip(text, (process.stdout.columns || 80) - 1)}`);
    };
    if (terminal) draw();
    else process.stdout.write(`${head}: ${doing}\n`);
    const beat = terminal
      ? setInterval(draw, 1000)
      : setInterval(
          () => process.stdout.write(`      still at it, ${duration(performance.now() - from)}: ${clip(last, 100)}\n`),
          HEARTBEAT_MS,
        );
    beat.unref();
    return {
      /** @param {string} line */
      line(line) {
        last = line;
      },
      /** @param {Outcome} outcome @param {{ counts?: Counts | undefined, note?: string | undefined }} [more] */
      end(outcome, more = {}) {
        clearInterval(beat);
        const ms = performance.now() - from;
        results.push({ name, outcome, ms, ...more });
        const colour = outcome === 'failed' ? red : outcome === 'not run' ? yellow : green;
        const said = [colour(outcome), duration(ms), more.counts && sentence(more.counts), more.note].filter(Boolean);
        if (terminal) process.stdout.write(`\r\u001b[2K${head}: ${said.join(', ')}\n`);
        else process.stdout.write(`      ${said.join(', ')}\n`);
      },
    };
  }

  /** @param {Step} step @returns {Promise<boolean>} */
  async function run({ name, command, env = {}, stamp, counts, note, refused, needs = [] }) {
    const missing = needs.filter((need) =>
      results.some((r) => r.name === need && !['ok', 'up to date'].includes(r.outcome)),
    );
    const show = begin(name, typed(command));
    if (interrupted || missing.length > 0) {
      show.end('not run', { note: interrupted ? 'interrupted' : `needs: ${missing.join(', ')}` });
      return false;
    }
    if (stamp?.fresh()) {
      show.end('up to date');
      return true;
    }
    stamp?.begin();
    const { code, output } = await call(command, env, show.line);
    const found = counts?.(output);
    const ended = code === 0 && (counts === undefined || found !== undefined) && (found?.failed ?? 0) === 0;
    const objections = ended ? (refused?.(output) ?? []) : [];
    if (objections.length > 0) {
      show.end('failed', { counts: found, note: objections.join('; ') });
      return false;
    }
    const failed = !ended;
    if (!failed) {
      stamp?.remember();
      show.end('ok', { counts: found, note: note?.(output) });
      return true;
    }
    show.end('failed', { counts: found, note: interrupted ? 'interrupted' : `exit code ${code}` });
    const rule = '─'.repeat(30);
    process.stdout.write(
      `\n${rule} output of: ${typed(command)} ${rule}\n${output.trimEnd()}\n${rule} end of the output ${rule}\n`,
    );
    if (code === 0 && found === undefined)
      process.stdout.write('The exit code was 0, but no summary of the tests was found.\n');
    process.stdout.write('\n');
    return false;
  }

  /**
   * The table, and for tests the counts as the very last line.
   * @param {{ tests: boolean }} options
   * @returns {number} the exit code
   */
  function finish({ tests }) {
    const bad = results.filter((r) => r.outcome === 'failed' || r.outcome === 'not run');
    const rows = results.map((r) => [
      r.name,
      r.outcome === 'failed' ? red(r.outcome) : r.outcome,
      duration(r.ms),
      r.counts ? count(r.counts.passed) : '',
      r.counts ? count(r.counts.failed) : '',
      r.counts ? count(r.counts.skipped) : '',
      dim(r.note ?? ''),
    ]);
    const head = ['step', 'result', 'time', 'passed', 'failed', 'skipped', ''];
    const shown = [head, ...rows].map((row) => (tests ? row : [...row.slice(0, 3), row[6] ?? '']));
    process.stdout.write(`\n${table(shown, { right: [2, 3, 4, 5].slice(0, tests ? 4 : 1) })}\n\n`);
    const took = duration(performance.now() - started);
    if (bad.length === 0) process.stdout.write(`${green('Everything is fine')}, after ${took}.\n`);
    else process.stdout.write(`${red('Failed')}, after ${took}: ${bad.map((r) => r.name).join(', ')}.\n`);
    if (tests) {
      // A step that failed without a failed test of its own (it did not compile, lint or start) must not read as "0 failed".
      const counted = sum(results.map((r) => r.counts ?? none()));
      const uncounted = bad.filter((r) => r.outcome === 'failed' && !r.counts?.failed).length;
      if (uncounted > 0)
        process.stdout.write('Each failed step that reported no failed test counts as one failure below.\n');
      process.stdout.write(`${sentence({ ...counted, failed: counted.failed + uncounted })}\n`);
    }
    return interrupted ? 130 : bad.length === 0 ? 0 : 1;
  }

  return { run, finish };
}
