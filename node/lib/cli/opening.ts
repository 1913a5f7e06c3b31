/** A store that is needed within a limit, and must not hold anybody up. */
import { untilAborted, within } from '../bash/waits.js';
import type { CheckpointManager } from '../manager.js';
import { CLOSE_MS } from './ending.js';

/** Whether the store could be closed: one that hangs must not hold up the end either. */
export async function closed(opened: Opened): Promise<boolean> {
  if ('manager' in opened) return (await within(opened.manager.close(), CLOSE_MS)) !== 'late';
  return !('hangs' in opened);
}

/** A store that is open, or why there is none. One that hangs cannot be closed either. */
export type Opened =
  | { manager: CheckpointManager; sandboxId: string }
  | { reason: string }
  | { reason: string; hangs: true };

/** The store, if it can be opened within the limit: otherwise what was to come runs without a checkpoint (G5). */
export async function openInTime(
  store: () => Promise<CheckpointManager>,
  directory: string,
  signal: AbortSignal,
  limitMs: number,
): Promise<Opened> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Opened>((settle) => {
    timer = setTimeout(() => settle({ reason: 'the store did not answer in time', hangs: true }), limitMs);
  });
  const open = async (): Promise<Opened> => {
    try {
      const manager = await store();
      return { manager, sandboxId: await manager.sandboxIdOf(directory) };
    } catch (error) {
      return { reason: error instanceof Error ? error.message : String(error) };
    }
  };
  const opened = await untilAborted(signal, Promise.race([open(), late])).finally(() => clearTimeout(timer));
  return opened === 'aborted' ? { reason: 'interrupted', hangs: true } : opened;
}
