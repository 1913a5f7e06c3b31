import { node } from '../builtin.js';
import { invalidArgument, TurnbackError } from '../errors.js';
import { absolute } from '../paths.js';
import { LIMITS } from './limits.js';
import type { Target } from './options.js';
import { systemError } from './system-error.js';

/** Where a command works, and what the guard calls it. */
export interface Workplace {
  sandboxId: string;
  /** Absolute and canonical. */
  directory: string;
}

/**
 * Finds where a command works: a sandbox is entered (S2), a directory made canonical.
 *
 * @throws TurnbackError `NOT_FOUND`, `NOT_A_DIRECTORY`, `PERMISSION_DENIED` (it cannot be entered), and what `enter()` throws
 */
export async function workplaceOf(target: Target): Promise<Workplace> {
  if ('directory' in target) {
    const directory = await canonical(target.directory);
    return { sandboxId: directoryId(directory), directory };
  }
  const { sandbox } = target;
  const directory = await canonical(absolute('the path of options.sandbox', await sandbox.enter()));
  return { sandboxId: sandbox.id, directory };
}

/**
 * The sandbox id of a plain directory: its canonical path, the same whichever way it was named. Where that is no id, being
 * over 200 bytes or holding control characters, it is a digest of the path.
 */
export function directoryId(directory: string): string {
  const isId = Buffer.byteLength(directory) <= LIMITS.sandboxIdBytes && !/\p{Cc}/u.test(directory);
  return isId ? directory : `${DIGEST_ID}${node.crypto.createHash('sha256').update(directory).digest('hex')}`;
}

/** What the ids of directories begin with whose path is none. */
export const DIGEST_ID = 'directory-sha256-';

/** The canonical path of a directory that can be entered; throws what {@link workplaceOf} does. */
export async function canonical(given: Buffer): Promise<string> {
  const path = given.toString();
  let found: Buffer;
  try {
    found = await node.fs.promises.realpath(given, { encoding: 'buffer' });
    if (!(await node.fs.promises.stat(found)).isDirectory()) {
      throw new TurnbackError('NOT_A_DIRECTORY', `${path} is no directory: pass one for the command to work in`, {
        details: { path },
      });
    }
    await node.fs.promises.access(found, node.fs.constants.X_OK);
  } catch (cause) {
    if (cause instanceof TurnbackError) throw cause;
    throw systemError(`${path} cannot be entered`, 'pass a directory for the command to work in', cause, { path });
  }
  // Node takes the working directory of a child as text only.
  if (node.buffer.isUtf8(found)) return found.toString();
  throw invalidArgument(
    'options.sandbox',
    `${path} is no valid UTF-8: Node can start a command only where the path is`,
  );
}
