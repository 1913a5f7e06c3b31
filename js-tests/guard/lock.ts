// Holds one of a store's locks from another process, as a second agent would.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Takes the lock before it returns. `release` resolves when the lock is free again. */
export function holdLock(file: string): { release(): Promise<void> } {
  const home = mkdtempSync(join(tmpdir(), 'turnback-lock-'));
  const fifo = join(home, 'held');
  if (spawnSync('mkfifo', [fifo]).status !== 0) throw new Error('mkfifo is needed: it is part of coreutils');
  const script = 'echo held > "$0"; exec cat';
  const holder = spawn('flock', [file, 'sh', '-c', script, fifo], { stdio: ['pipe', 'ignore', 'inherit'] });
  if (holder.pid === undefined) throw new Error('flock is needed: it is part of util-linux');
  // Opening waits for the writer, who writes when the lock is his.
  const fd = openSync(fifo, 'r');
  readSync(fd, Buffer.alloc(16));
  closeSync(fd);
  rmSync(home, { recursive: true });
  return {
    async release() {
      const ended = once(holder, 'exit');
      holder.stdin.end();
      await ended;
    },
  };
}

/** Whether somebody holds a lock file, now. Works on a frozen file system too: nothing is made. */
export function isLocked(file: string): boolean {
  const fd = openSync(file, 'r');
  try {
    const tried = spawnSync('flock', ['-n', '3'], { stdio: ['ignore', 'ignore', 'inherit', fd] });
    if (tried.error) throw new Error('flock is needed: it is part of util-linux');
    return tried.status !== 0;
  } finally {
    closeSync(fd);
  }
}
