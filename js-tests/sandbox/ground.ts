// The places on which sandboxes are tried: file systems that share blocks are mounted where root may.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ROOT, temporary } from '../node/support.js';

/** A kind of file system; `here` is wherever temporary directories are, on `subvolume` the directory `work` is one of btrfs. */
export type Ground = 'here' | 'xfs' | 'btrfs' | 'subvolume';

/** Runs an administrator's program, whose directory is not in every path; what is wrong, if anything is. */
function failure(command: string, ...args: string[]): string | undefined {
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
  const ran = spawnSync(command, args, { encoding: 'utf8', env });
  if (ran.status === 0) return undefined;
  return ran.error?.message ?? ran.stderr.trim().split('\n')[0] ?? `${command} failed`;
}

/** Mounts a file system of 64 KiB at a directory; why not, where that cannot be. */
export function small(directory: string): { reason: string } | undefined {
  if (!ROOT) return { reason: 'only root mounts (a full file system)' };
  mkdirSync(directory, { recursive: true });
  const problem = failure('mount', '-t', 'tmpfs', '-o', 'size=64k,mode=700', 'turnback-test', directory);
  if (problem !== undefined) return { reason: `tmpfs cannot be mounted here (a full file system): ${problem}` };
  onTestFinished(() => void spawnSync('umount', ['-l', directory]));
  return undefined;
}

/** A directory of the kind that goes with the test, or why there is none. */
export function ground(kind: Ground): { directory: string } | { reason: string } {
  const home = temporary();
  if (kind === 'here') return { directory: home };
  if (!ROOT) return { reason: `only root mounts (${kind})` };
  const [image, mount] = [join(home, 'image'), join(home, 'mount')];
  mkdirSync(mount);
  const type = kind === 'xfs' ? 'xfs' : 'btrfs';
  const problem =
    failure('truncate', '-s', '400M', image) ??
    failure(`mkfs.${type}`, '-q', image) ??
    failure('mount', '-o', 'loop', image, mount);
  if (problem !== undefined) return { reason: `${type} cannot be made or mounted here: ${problem}` };
  onTestFinished(() => void spawnSync('umount', ['-l', mount]));
  const refused = kind === 'subvolume' ? failure('btrfs', '-q', 'subvolume', 'create', join(mount, 'work')) : undefined;
  if (refused !== undefined) return { reason: `${type} cannot be made or mounted here: ${refused}` };
  chmodSync(mount, 0o755);
  return { directory: mount };
}
