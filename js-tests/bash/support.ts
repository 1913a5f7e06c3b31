// What the tests of `runBash` share: a directory, a guard that keeps a record, and a look at who is still alive.
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { type CommandGuard, type OutputChunk, type RunBashOptions, runBash, type Verdict } from 'turnback';
import { temporary } from '../node/support.js';

export { rejection, temporary, write } from '../node/support.js';

/** What a guard that made a checkpoint says. */
export const VERDICT: Verdict = {
  outcome: 'created',
  protected: true,
  late: false,
  partial: false,
  reason: 'new_turn',
  checkpointId: '01ARYZ6S41TSV4RRFFQ69G5FAV',
  durationMs: 1,
};

type Batch = Parameters<CommandGuard['beforeBatch']>[0];

/** A guard that writes down what it is asked and told, and answers what it is to answer. */
export function recordingGuard(answer: (batch: Batch) => Promise<Verdict> | Verdict = () => VERDICT) {
  const asked: Batch[] = [];
  const released: { sandboxId: string; turnId: string }[] = [];
  const guard: CommandGuard = {
    async beforeBatch(batch) {
      asked.push(batch);
      return await answer(batch);
    },
    release(batch) {
      released.push(batch);
    },
  };
  return { guard, asked, released };
}

/** The variable by which a test knows the processes that it started, apart from the product's own. */
const MARK = 'TURNBACK_TEST_MARK';

/** Runs a command in a directory of its own, with a mark for `alive`. */
export function marked(options: Omit<RunBashOptions, 'sandbox'> & { sandbox?: RunBashOptions['sandbox'] }) {
  const mark = randomUUID();
  const ran = runBash({ sandbox: temporary(), ...options, env: { ...options.env, [MARK]: mark } });
  return { ran, alive: () => aliveWith(mark) };
}

function aliveWith(mark: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => contentOf(`/proc/${pid}/environ`).includes(`${MARK}=${mark}`))
    .map((pid) => `${pid} ${contentOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')}`);
}

/** Whether a process runs; one that only waits to be collected does not. */
export function lives(pid: number): boolean {
  const stat = contentOf(`/proc/${pid}/stat`);
  return stat !== '' && !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
}

/** What a process was started as, each word with a NUL behind it; empty when there is none. */
export function commandOf(pid: number): string {
  return contentOf(`/proc/${pid}/cmdline`);
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/** A listener, and a promise of the moment when a stream has said something. */
export function hearing(wanted: string, stream: OutputChunk['stream'] = 'stdout') {
  let said = '';
  let heard: (all: string) => void = () => {};
  const moment = new Promise<string>((resolve) => {
    heard = resolve;
  });
  const onOutput = (chunk: OutputChunk) => {
    if (chunk.stream === stream) said += Buffer.from(chunk.data).toString();
    if (said.includes(wanted)) heard(said);
  };
  return { onOutput, moment };
}

/** A promise, and the functions that settle it. */
export function deferred<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

/** How many descriptors this process has open. */
export function descriptors(): number {
  return readdirSync('/proc/self/fd').length;
}
