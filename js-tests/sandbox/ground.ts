// The places on which sandboxes are tried: file systems that share blocks are mounted where root may.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ROOT, temporary } from '../node/support.js';

/** A kind of file system; `here` is wherever temporary directories are. */
export type Ground = 'here' | 'xfs' | 'btrfs';

/** Runs an administrator's program, whose directory is not in every path; what is wrong, if anything is. */
function failure(command: string, ...args: string[]): string | undefined {
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
  const ran = spawnSync(command, args, { encoding: 'utf8', env });
  if (ran.status === 0) return undefined;
  return ran.error?.message ?? ran.stderr.trim().split('\n')[0] ?? `${command} failed`;
}

/** A directory of the kind that goes with the test, or why there is none. */
export function ground(kind: Ground): { directory: string } | { reason: string } {
  const home = temporary();
  if (kind === 'here') return { directory: home };
  if (!ROOT) return { reason: `only root mounts (${kind})` };
  const [image, mount] = [join(home, 'image'), join(home, 'mount')];
  mkdirSync(mount);
  const problem =
    failure('truncate', '-s', '400M', image) ??
    failure(`mkfs.${kind}`, '-q', image) ??
    failure('mount', '-o', 'loop', image, mount);
  if (problem !== undefined) return { reason: `${kind} cannot be made or mounted here: ${problem}` };
  onTestFinished(() => void spawnSync('umount', ['-l', mount]));
  chmodSync(mount, 0o755);
  return { directory: mount };
}
