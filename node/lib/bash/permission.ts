import type { Verdict } from '../guard/index.js';
import { TOLD } from '../recording/marks.js';
import type { CommandGuard } from './types.js';
import { untilAborted } from './waits.js';
import { warn } from './warning.js';

/** What is asked of a guard. */
export interface Request {
  guard: CommandGuard;
  sandboxId: string;
  turnId: string | undefined;
  /** Of a tool that is no command there is none. */
  command?: string | readonly string[] | undefined;
  signal: AbortSignal | undefined;
}

/** The guard let the command pass, or the signal fired before it did. Then it either did not run, or it did and is over. */
export type Permission = { verdict: Verdict; giveBack: () => void; over: () => void } | 'aborted';

/**
 * Asks a guard. What it throws is thrown: then the command must not run. If the signal fires, this ends at once, and the
 * turn's slot is given back whenever the guard answers (F29).
 */
export async function ask({ guard, sandboxId, turnId, command, signal }: Request): Promise<Permission> {
  const batch = {
    sandboxId,
    ...(command === undefined ? {} : { command }),
    ...(turnId === undefined ? {} : { turnId }),
    ...(signal === undefined ? {} : { signal }),
    ...(guard.ended === undefined ? {} : { [TOLD]: true }),
  };
  const giveBack = (verdict: Verdict | undefined) => {
    // A command without a turn, or proven read-only, holds no slot: giving back would take another's.
    if (turnId === undefined || verdict?.reason === 'read_only') return;
    try {
      // The very object that the guard was asked with tells it which batch this was.
      guard.release(batch as typeof batch & { turnId: string });
    } catch (error) {
      warn('guard.release failed; the turn may go on counting as checkpointed', error);
    }
  };
  const over = () => {
    try {
      guard.ended?.(batch);
    } catch (error) {
      warn('guard.ended failed', error);
    }
  };
  const asked = (async () => await guard.beforeBatch(batch))();
  const verdict = await untilAborted(signal, asked);
  if (verdict !== 'aborted') return { verdict, giveBack: () => giveBack(verdict), over };
  // One that refused after all has no slot to give back, and whoever asked has gone.
  asked.then(giveBack).catch(() => {});
  return 'aborted';
}
