import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { untilAborted, within } from '../../bash/waits.js';
import { CLOSE_MS } from '../ending.js';
import type { Answer } from './before-call.js';

/** What another process is to do. */
export interface Apart {
  /** What it finds on its standard input. */
  input: string;
  /** Its command line, with which it prints one JSON document. */
  line: string[];
  /** What is left of the time, in milliseconds, as of now. */
  leftMs: () => number;
  /** Fires when somebody interrupts. */
  interrupted: AbortSignal;
}

/**
 * Has the call answered by another process of this program, and gives up when that is late. A thread that hangs in the kernel, under a disk
 * that does not answer, keeps its whole process from ending, and so its exit code from whoever waits for that. This process touches no
 * disk here: it can always say that the call must not run.
 */
export async function apart({ input, line, leftMs, interrupted }: Apart): Promise<Answer> {
  const [, program = ''] = process.argv;
  const child = spawn(process.execPath, [...process.execArgv, program, ...line], { stdio: 'pipe' });
  const ended = new Promise<string>((resolve) => {
    child.once('error', ({ message }) => resolve(`no process could be started: ${message}`));
    child.once('exit', (code, signal) =>
      resolve(`its process ended without an answer (${signal ?? `exit code ${code}`})`),
    );
  });
  // It may end without reading: then it is that which is told.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  // Not inherited: whoever reads ours must not have to wait until that process ends.
  child.stderr.on('data', (chunk: Buffer) => process.stderr.write(chunk));
  const told = await untilAborted(interrupted, within(answerIn(child.stdout), leftMs() + CLOSE_MS));
  try {
    if (told === 'late')
      return { outcome: 'timed_out', protected: false, reason: 'its process did not answer in time' };
    if (told === 'aborted') child.kill('SIGINT');
    const how = await within(ended, CLOSE_MS);
    return typeof told === 'object' ? told : { outcome: 'failed', protected: false, reason: told ?? how };
  } finally {
    // One that hangs may die later: nothing is held by it that is ours.
    child.kill('SIGKILL');
    for (const stream of child.stdio) stream?.destroy();
    child.unref();
  }
}

/** The answer, as soon as it is there: who prints it may not end for long. Nothing, if there is none. */
async function answerIn(stdout: Readable): Promise<Answer | undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdout as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    const document = documentIn(Buffer.concat(chunks).toString());
    if (typeof document !== 'object' || document === null) continue;
    if ('outcome' in document) return document as Answer;
    return { outcome: 'failed', protected: false, reason: `its process said ${JSON.stringify(document)}` };
  }
  return undefined;
}

/** Nothing, if it goes on. */
function documentIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
