import { TurnbackError } from '../errors.js';
import { traced } from '../observe.js';
import { follow } from './command.js';
import { harmless } from './listener.js';
import { checked } from './options.js';
import { ask, type Permission } from './permission.js';
import { discard, makePipes } from './pipe.js';
import { type Shell, startShell } from './process.js';
import { shell as findShell } from './programs.js';
import { systemError } from './system-error.js';
import type { RunBashOptions, RunBashResult } from './types.js';
import { untilAborted } from './waits.js';
import { workplaceOf } from './workplace.js';

/**
 * Runs a command in a shell (`bash`, or `sh` where there is none), in a sandbox or a directory, and asks the guard first.
 *
 * *Order (G13).* Everything that could refuse the command comes first: the options, the signal, the sandbox or directory,
 * the shell, the pipes. Then the guard is asked, and directly after it the command starts. `timeoutMs` counts from there.
 * If the guard rejects (`CHECKPOINT_REQUIRED`), the command does not run. If the guard let it pass and it does not run all
 * the same, because the signal fired or the system could not start it, the guard's `release` is called (F29). The guard
 * hears the sandbox's id; for a plain directory that is its canonical path, or a digest of it where it is too long.
 *
 * *Processes.* The command leads a session of its own, and its standard input is empty. On a time-out, an abort and the exit
 * of this process the whole tree is ended: SIGTERM, a second of grace, SIGKILL; also what left the session or ignores
 * signals. Not found is only what left the session, outlived its parents, shed its environment and let go of the output, all four, or
 * was started by another daemon. On systems other than Linux it is the process group that is ended.
 * Each command has a variable `TURNBACK_RUN_…` in its environment, by which its processes are recognised.
 *
 * *Background processes.* The command is over when its shell has ended and nobody holds its output any more. What lets go
 * of both streams (`server >log 2>&1 &`) was meant to go on and is left running. If something still holds the output a
 * second after the shell (`server &`), all that the command left is ended, and `endedLeftovers` says so. What cannot be ended is in
 * `notEnded`, and `outputHeld` says whether it may still write.
 *
 * *Output.* `onOutput` hears all of it. The result holds at most `maxOutputBytes` of each stream, beginning and end.
 *
 * @returns also for a command that fails or times out: look at `exitCode`, `signal` and `timedOut`
 * @throws TurnbackError `INVALID_ARGUMENT`, `NOT_FOUND`, `NOT_A_DIRECTORY`, `PERMISSION_DENIED`, `UNSUPPORTED_PLATFORM`
 *   (no shell, or Windows), `IO`; `ABORTED` with the signal's reason as the cause, and once the command had started, with
 *   what it had come to as `details.result`. It then rejects after the last process has ended, so that nothing writes any more
 */
export async function runBash(options: RunBashOptions): Promise<RunBashResult> {
  return await traced(
    'bash.run',
    () => ({ turnId: options.turnId }),
    () => run(options),
  );
}

async function run(options: RunBashOptions): Promise<RunBashResult> {
  const given = checked(options);
  if (process.platform === 'win32') {
    throw new TurnbackError('UNSUPPORTED_PLATFORM', 'runBash needs process groups, which Windows lacks: use it in WSL');
  }
  const { signal, guard, turnId, command } = given;
  const stop = () => {
    if (signal?.aborted) throw notStarted(signal);
  };
  stop();
  const entered = workplaceOf(given.target);
  // A sandbox may be busy with something that takes its time; if it is entered after that, it does no harm (S2).
  const workplace = await untilAborted(signal, entered);
  if (workplace === 'aborted') {
    entered.catch(() => {});
    throw notStarted(signal as AbortSignal);
  }
  const { sandboxId, directory } = workplace;
  const shell = await findShell();
  stop();
  const pipes = await makePipes();
  try {
    stop();
    const permission = guard && (await ask({ guard, sandboxId, turnId, command, signal }));
    if (permission === 'aborted') throw notStarted(signal);
    const running = await started(permission, () => {
      stop();
      return startShell({ shell, command, directory, env: given.env, pipes });
    });
    const over = await follow(running, [pipes[0].output, pipes[1].output], {
      ...given,
      onOutput: harmless(given.onOutput),
    }).finally(() => permission?.over());
    const result = { ...over.result, ...(permission && { checkpoint: permission.verdict }) };
    if (over.unseen !== undefined) {
      throw systemError(
        'it could not be seen whether all processes of the command have ended',
        'some may still run, and are ended with this process: look at details.result',
        over.unseen,
        { result },
      );
    }
    if (over.why === 'aborted') throw cancelled(signal, result);
    if (over.readErrors.length > 0) {
      throw systemError('the output could not be read', 'the command ran: look at details.result', over.readErrors[0], {
        result,
      });
    }
    return result;
  } finally {
    discard(pipes);
  }
}

/** Starts the command, or gives the turn's slot back. */
async function started(permission: Exclude<Permission, 'aborted'> | undefined, start: () => Promise<Shell>) {
  try {
    return await start();
  } catch (error) {
    permission?.giveBack();
    throw error;
  }
}

function notStarted(signal: AbortSignal | undefined): TurnbackError {
  return new TurnbackError('ABORTED', 'the command was cancelled before it started: nothing ran', {
    cause: signal?.reason,
  });
}

function cancelled(signal: AbortSignal | undefined, result: RunBashResult): TurnbackError {
  return new TurnbackError(
    'ABORTED',
    'the command was cancelled and its processes were ended; what it did so far stays: look at details.result',
    { cause: signal?.reason, details: { result } },
  );
}
