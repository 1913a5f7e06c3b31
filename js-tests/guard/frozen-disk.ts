// A file system that can be frozen: what writes to it then hangs in the kernel, where nothing ends it.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ROOT, temporary } from '../node/support.js';

/** Why no file system of our own can be mounted here; otherwise where it is. */
export function mounted(): { mount: string } | { reason: string } {
  if (!ROOT) return { reason: 'mounting a file system needs root' };
  const home = temporary();
  const [image, mount] = [join(home, 'image'), join(home, 'mount')];
  mkdirSync(mount);
  for (const [command, ...args] of [
    ['truncate', '-s', '64M', image],
    ['mkfs.ext4', '-q', '-F', image],
    ['mount', '-o', 'loop', image, mount],
  ] as const) {
    const ran = spawnSync(command, args, { encoding: 'utf8' });
    if (ran.status !== 0) return { reason: `${command}: ${ran.error?.message ?? ran.stderr.trim().split('\n')[0]}` };
  }
  // Lazily: whatever still has a descriptor there must not keep the test's directory from going.
  onTestFinished(() => void spawnSync('umount', ['-l', mount]));
  return { mount };
}

/** Whether it is frozen now. */
export function freeze(mount: string): boolean {
  return spawnSync('fsfreeze', ['-f', mount]).status === 0;
}

export function thaw(mount: string): void {
  spawnSync('fsfreeze', ['-u', mount]);
}

/** What a thread waits for in the kernel that would write to a frozen file system. */
const THAW = 'percpu_rwsem_wait';

/**
 * Where threads of a manager's are in the kernel that cannot be interrupted: on a busy machine that can be a disk that is only slow.
 * Kernels that do not tell say `0`.
 */
function waits(): string[] {
  return readdirSync('/proc/self/task').flatMap((task) => {
    const of = (file: string) => readFileSync(`/proc/self/task/${task}/${file}`, 'utf8');
    try {
      return /\(turnback[^)]*\) D/.test(of('stat')) ? [of('wchan')] : [];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

/** Resolves when one hangs for good. */
export async function aWorkerStaysThere(): Promise<void> {
  for (let looks = 0; looks < 100; ) {
    const now = waits();
    if (now.includes(THAW)) return;
    looks = now.some((wait) => wait === '0' || wait === '') ? looks + 1 : 0;
    await new Promise(setImmediate);
  }
}
