import type { ChildProcess } from 'node:child_process';
import { node } from '../builtin.js';
import { invalidArgument } from '../errors.js';
import type { Pipe } from './pipe.js';
import { systemCode, systemError } from './system-error.js';
import { type Tree, treeOf } from './tree.js';

/** What a shell is started with. */
export interface Start {
  shell: string;
  command: string;
  directory: string;
  env: readonly [string, string | undefined][];
  pipes: readonly [Pipe, Pipe];
}

/** How the shell ended. */
export interface Exit {
  exitCode: number | null;
  signal: string | null;
}

/** A shell that runs. */
export interface Shell {
  tree: Tree;
  exited: Promise<Exit>;
}

/**
 * Starts the shell, in a session of its own, without standard input. Nothing is awaited before the start.
 *
 * @throws TurnbackError when the system refuses; then nothing ran
 */
export function startShell(start: Start): Promise<Shell> {
  // A name of its own for each run: a command that itself runs commands keeps both.
  const marker = `TURNBACK_RUN_${node.crypto.randomBytes(16).toString('hex').toUpperCase()}`;
  const [stdout, stderr] = start.pipes;
  let child: ChildProcess;
  try {
    // After `--` nothing is an option, whatever the command begins with.
    child = node.childProcess.spawn(start.shell, ['-c', '--', start.command], {
      cwd: start.directory,
      // A variable that is undefined is left out.
      env: { ...process.env, ...Object.fromEntries(start.env), [marker]: '1' },
      stdio: ['ignore', stdout.input, stderr.input],
      detached: true,
    });
  } catch (cause) {
    return Promise.reject(refused(start, cause));
  } finally {
    stdout.closeInput();
    stderr.closeInput();
  }
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }));
  });
  const { pid } = child;
  if (pid === undefined) {
    return new Promise((_, reject) => child.once('error', (cause) => reject(refused(start, cause))));
  }
  return Promise.resolve({ tree: treeOf(pid, marker, start.pipes), exited });
}

function refused({ shell, directory }: Start, cause: unknown) {
  if (systemCode(cause) === 'E2BIG') {
    return invalidArgument('options.env', 'the command and its environment are too long together: pass less of either');
  }
  // The system does not say which of the two is missing.
  const here = node.fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory() ?? false;
  const path = here ? shell : directory;
  return systemError(`${shell} cannot be started in ${directory}`, `look at ${path}; the command did not run`, cause, {
    path,
  });
}
