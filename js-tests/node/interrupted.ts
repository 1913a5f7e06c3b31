// A rollback that is interrupted while it writes, and waits.
import { join } from 'node:path';
import { type CheckpointManager, isTurnbackError, type Progress, type SandboxCheckpoint } from 'turnback';
import { vi } from 'vitest';
import { isLocked } from '../guard/lock.js';
import { picture, scene, write } from './support.js';

/** Enough files for several progress events while they are put in place. */
export const MANY = Object.fromEntries(Array.from({ length: 2500 }, (_, at) => [`d${at % 20}/f${at}`, `${at}\n`]));
export const DAMAGED = Object.fromEntries(Object.keys(MANY).map((name) => [name, 'damaged\n']));

/** A workspace with a checkpoint, of which a rollback changes many paths. */
export async function damaged() {
  const around = await scene(MANY);
  const before = picture(around.workspace);
  const checkpoint = await around.manager.createCheckpoint(around.workspace, 'p', 'manual');
  write(around.workspace, DAMAGED);
  return { ...around, before, checkpoint, ruined: picture(around.workspace) };
}

/** Who gives a call up is told in time; its worker has the workspace until it has ended. */
export async function workerEnds(manager: CheckpointManager, { sandboxId }: SandboxCheckpoint): Promise<void> {
  const lock = join(manager.storePath, 'locks', sandboxId);
  await vi.waitUntil(async () => !isLocked(lock), { timeout: 60_000 });
}

/** A rollback that is cancelled when it begins to write. */
export async function interrupted(
  manager: CheckpointManager,
  workspace: string,
  checkpoint: SandboxCheckpoint,
  scope: { paths?: string[] } = {},
) {
  for (;;) {
    const controller = new AbortController();
    const onProgress = ({ phase }: Progress) => void (phase === 'apply' && controller.abort('enough'));
    try {
      await manager.rollbackTo(checkpoint, { ...scope, signal: controller.signal, onProgress });
    } catch (error) {
      await workerEnds(manager, checkpoint);
      const waits = (await manager.pending()).length > 0;
      if (waits && isTurnbackError(error) && error.details.pending === true) return error;
    }
    // It was quicker than its own progress event, or ended before its first write: once more.
    write(workspace, DAMAGED);
  }
}

/** Where the journal of a checkpoint's workspace is. */
export function journalOf(manager: CheckpointManager, { sandboxId }: SandboxCheckpoint): string {
  return join(manager.storePath, 'workspaces', sandboxId, 'journal');
}
