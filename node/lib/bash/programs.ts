import { delimiter, isAbsolute, join } from 'node:path';
import { node } from '../builtin.js';
import { TurnbackError } from '../errors.js';

/** Where programs are if `PATH` does not say. */
const USUAL = ['/usr/local/bin', '/usr/bin', '/bin'];

/**
 * The shell: `bash`, or `sh` where there is none.
 *
 * @throws TurnbackError `UNSUPPORTED_PLATFORM` where there is neither
 */
export async function shell(): Promise<string> {
  return (await program('bash')) ?? (await program('sh')) ?? missing('bash or sh');
}

/** @throws TurnbackError `UNSUPPORTED_PLATFORM` where there is none */
export async function mkfifo(): Promise<string> {
  return (await program('mkfifo')) ?? missing('mkfifo');
}

/**
 * A program by its absolute path. It is looked for by this process's `PATH`, not by the command's, and relative entries
 * count for nothing: the workspace must not say what its shell is.
 */
async function program(name: string): Promise<string | undefined> {
  const listed = (process.env.PATH ?? '').split(delimiter).filter(isAbsolute);
  for (const directory of [...listed, ...USUAL]) {
    const path = join(directory, name);
    if (await runnable(path)) return path;
  }
  return undefined;
}

async function runnable(path: string): Promise<boolean> {
  try {
    await node.fs.promises.access(path, node.fs.constants.X_OK);
    return (await node.fs.promises.stat(path)).isFile();
  } catch {
    // Not there, or not for us: the next directory may have one.
    return false;
  }
}

function missing(name: string): never {
  throw new TurnbackError('UNSUPPORTED_PLATFORM', `there is no ${name} in any directory of PATH: install it`);
}
