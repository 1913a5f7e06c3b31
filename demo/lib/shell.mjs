// Runs real shell commands, and ends them when the demo is told to stop.
import { spawn } from 'node:child_process';

/** @typedef {{ code: number, stdout: string, stderr: string, ms: number }} Ran */

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();

/**
 * What the environment of a command has other than this process: without what would make git look elsewhere (such variables
 * are `undefined`), and with messages in one language.
 * @param {Record<string, string>} [more]
 * @returns {Record<string, string | undefined>}
 */
export function variables(more = {}) {
  const git = Object.keys(process.env).filter((name) => name.startsWith('GIT_'));
  return { ...Object.fromEntries(git.map((name) => [name, undefined])), LC_ALL: 'C', ...more };
}

/**
 * This process's environment with those `variables`.
 * @param {Record<string, string>} [more]
 * @returns {NodeJS.ProcessEnv}
 */
export const environment = (more) => ({ ...process.env, ...variables(more) });

/** What `stoppable` started, until it has settled. @type {Set<Promise<unknown>>} */
const pending = new Set();
const stop = new AbortController();
let stopped = false;

/** Ends whatever runs, with all that it started, waits until it is gone, and lets nothing more start but `last` commands. */
export async function endAll() {
  stopped = true;
  stop.abort(new Error('stopped'));
  await Promise.all([
    Promise.allSettled(pending),
    ...[...running].map((child) => {
      const gone = new Promise((resolve) => child.once('close', resolve));
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // It ended by itself a moment ago: 'close' is on its way.
      }
      return gone;
    }),
  ]);
}

/**
 * Work that ends by itself, with all its processes, when the signal fires; `endAll` fires it and waits for the work to settle.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function stoppable(work) {
  stop.signal.throwIfAborted();
  const done = work(stop.signal);
  pending.add(done);
  try {
    return await done;
  } finally {
    pending.delete(done);
  }
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, last?: boolean }} [options] last: even after `endAll`
 * @returns {Promise<Ran>}
 */
export function run(program, args, { cwd, env = environment(), last = false } = {}) {
  return new Promise((resolve, reject) => {
    if (stopped && !last) {
      reject(new Error('stopped'));
      return;
    }
    const from = performance.now();
    // Detached: a group of its own, so that what the command starts can be ended with it.
    const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    /** @type {Buffer[]} */
    const out = [];
    /** @type {Buffer[]} */
    const err = [];
    child.stdout.on('data', (chunk) => out.push(chunk));
    child.stderr.on('data', (chunk) => err.push(chunk));
    child.on('error', (error) => {
      running.delete(child);
      reject(new Error(`cannot run ${program}: ${error.message}`));
    });
    child.on('close', (code) => {
      running.delete(child);
      // latin1 keeps every byte of a file name apart.
      const [stdout, stderr] = [out, err].map((chunks) => Buffer.concat(chunks).toString('latin1'));
      resolve({ code: code ?? 1, stdout: String(stdout), stderr: String(stderr), ms: performance.now() - from });
    });
  });
}

/**
 * As `run`, but a failure is an error that carries what the program said.
 * @param {string} program
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 */
export async function must(program, args, options) {
  const ran = await run(program, args, options);
  if (ran.code !== 0) throw new Error(`${program} ended with code ${ran.code}: ${ran.stderr.trim().slice(0, 1000)}`);
  return ran;
}

/**
 * A script that ends at the first command that fails.
 * @param {string} script
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, args?: string[] }} [options] args: $0, $1, ...
 */
export const bash = (script, { args = [], ...options } = {}) =>
  must('bash', ['--noprofile', '--norc', '-euo', 'pipefail', '-c', script, ...args], options);
