// C12, P11: the store's file system is frozen in the middle of a write. The guard answers all the same, and nothing is published late.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointManager, createGuard, localDriver } from 'turnback';
import { expect, it, onTestFinished } from 'vitest';
import { ROOT, temporary, write } from '../node/support.js';
import { noUnhandledRejections } from './support.js';

noUnhandledRejections();

/** Why no file system of our own can be mounted here; otherwise where it is. */
function mounted(): { mount: string } | { reason: string } {
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

it('two batches get their verdicts while it is frozen; afterwards nothing of their attempts is there', async (context) => {
  const there = mounted();
  if ('reason' in there) return context.skip(there.reason);
  const store = join(there.mount, 'store');
  const workspace = write(join(temporary(), 'w'), { 'a.txt': 'one' });
  const manager = await CheckpointManager.open({ store });
  const driver = localDriver(manager, workspace);
  const ask = (turnId: string, timeoutMs: number) =>
    createGuard({ driver, enabled: () => true, timeoutMs }).beforeBatch({ sandboxId: 'w', turnId });
  expect(await ask('before', 60_000)).toMatchObject({ outcome: 'created' });
  write(workspace, { 'b.txt': 'two' });

  if (spawnSync('fsfreeze', ['-f', there.mount]).status !== 0) return context.skip('fsfreeze is not possible here');
  try {
    // The first hangs in its write, and keeps the workspace's lock; the second waits for that.
    expect(await ask('frozen', 100)).toMatchObject({ outcome: 'timed_out', reason: 'unfinished', protected: false });
    expect(await ask('again', 100)).toMatchObject({ outcome: 'timed_out', protected: false });
  } finally {
    spawnSync('fsfreeze', ['-u', there.mount]);
  }
  await manager.close();
  await using again = await CheckpointManager.open({ store });
  expect(await again.listCheckpoints()).toHaveLength(1);
  expect(readdirSync(join(store, 'tmp'))).toEqual([]);
  expect(await again.verify()).toMatchObject({ ok: true });
});
