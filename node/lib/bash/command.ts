import type { Socket } from 'node:net';
import { Capture } from './capture.js';
import { end } from './ending.js';
import { endWithHost } from './host-exit.js';
import { LIMITS } from './limits.js';
import type { Exit, Shell } from './process.js';
import type { OutputChunk, RunBashResult } from './types.js';
import { untilAborted, within } from './waits.js';

/** What bounds a command that runs, and who hears of it. */
export interface Bounds {
  timeoutMs: number | undefined;
  maxOutputBytes: number;
  signal: AbortSignal | undefined;
  onOutput: (chunk: OutputChunk) => void;
}

/** Why a command is over. */
export type Why = 'exited' | 'timed_out' | 'aborted';

/** A command that is over. */
export interface Over {
  why: Why;
  result: RunBashResult;
  /** What reading its output failed with. */
  readErrors: Error[];
  /** Why it could not be seen whether all its processes have ended, if so. */
  unseen: unknown;
}

/** Follows a shell to the end of all its processes and output. Whatever fails, they are ended. */
export async function follow(shell: Shell, outputs: readonly [Socket, Socket], bounds: Bounds): Promise<Over> {
  const startedAt = performance.now();
  const forget = endWithHost(shell.tree);
  let over = false;
  const readErrors: Error[] = [];
  const stdout = new Capture(bounds.maxOutputBytes);
  const stderr = new Capture(bounds.maxOutputBytes);
  const hear = (stream: OutputChunk['stream'], capture: Capture) => (data: Buffer) => {
    capture.add(data);
    bounds.onOutput({ stream, data });
  };
  const closed = Promise.all([
    read(outputs[0], hear('stdout', stdout), readErrors),
    read(outputs[1], hear('stderr', stderr), readErrors),
  ]);
  let exit: Exit = { exitCode: null, signal: null };
  const exited = shell.exited.then((how) => {
    exit = how;
  });
  try {
    const { why, leftovers } = await wait(exited, closed, bounds, startedAt);
    const ending = why !== 'exited' || leftovers;
    if (ending) await end(shell.tree);
    // Held by what cannot be ended, or was not found: then the output is cut off here.
    const outputHeld = (await within(Promise.all([exited, closed]), LIMITS.closeMs)) === 'late';
    const notEnded = ending ? shell.tree.left() : [];
    const { unseen } = ending ? shell.tree : { unseen: undefined };
    over = unseen === undefined && notEnded.length === 0;
    const durationMs = Math.round(performance.now() - startedAt);
    const [out, err] = [stdout.end(), stderr.end()];
    return {
      why,
      readErrors,
      unseen,
      result: {
        ...exit,
        stdout: out.text,
        stderr: err.text,
        timedOut: why === 'timed_out',
        truncated: out.truncated || err.truncated,
        endedLeftovers: leftovers && !outputHeld && over,
        notEnded,
        outputHeld,
        durationMs,
      },
    };
  } catch (error) {
    await end(shell.tree);
    over = shell.tree.left().length === 0 && shell.tree.unseen === undefined;
    throw error;
  } finally {
    for (const output of outputs) output.destroy();
    // What may still live is ended with this process at the latest.
    if (over) forget();
  }
}

/** Waits for the shell, then for the end of its output, which what it left behind may hold open. The time-out is for both. */
async function wait(
  exited: Promise<void>,
  closed: Promise<unknown>,
  { timeoutMs = Number.POSITIVE_INFINITY, signal }: Bounds,
  startedAt: number,
) {
  const ended = await untilAborted(signal, within(exited, timeoutMs));
  if (ended === 'late') return { why: 'timed_out', leftovers: false } as const;
  if (ended === 'aborted') return { why: 'aborted', leftovers: false } as const;
  const restMs = Math.max(0, timeoutMs - (performance.now() - startedAt));
  const drained = await untilAborted(signal, within(closed, Math.min(restMs, LIMITS.drainMs)));
  if (drained === 'aborted') return { why: 'aborted', leftovers: false } as const;
  if (drained === 'late' && restMs < LIMITS.drainMs) return { why: 'timed_out', leftovers: false } as const;
  return { why: 'exited', leftovers: drained === 'late' } as const;
}

function read(output: Socket, hear: (data: Buffer) => void, errors: Error[]): Promise<void> {
  return new Promise((resolve) => {
    output.on('data', hear);
    output.once('error', (error) => errors.push(error));
    output.once('close', () => resolve());
  });
}
