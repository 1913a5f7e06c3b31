/** Which checkpoint belongs to which turn: the guard's checkpoints say it in their comment (G2). */
import { invalidArgument, TurnbackError } from '../errors.js';
import type { CheckpointManager } from '../manager.js';
import { parseCheckpointComment } from '../policy.js';
import type { ListedCheckpoint } from '../types.js';
import { printable } from './text.js';

export interface Turn {
  turnId: string;
  checkpointId: string;
  createdAt: Date;
  workspace: string;
  sandboxId: string;
  /** A part of the turn had run already when the checkpoint was taken (G6). */
  late: boolean;
  /** Whether the checkpoint covers everything. */
  complete: boolean;
}

/** The turns among checkpoints, in their order. */
export function turnsOf(checkpoints: readonly ListedCheckpoint[]): Turn[] {
  return checkpoints.flatMap((one) => {
    const { comment, late } = one.metadata;
    const said = one.phase === 'pre_batch' && comment !== undefined ? parseCheckpointComment(comment) : null;
    if (said === null) return [];
    const { checkpointId, createdAt, workspace, sandboxId, coverage } = one;
    const { turnId } = said;
    return [
      { turnId, checkpointId, createdAt, workspace, sandboxId, late: late === 'true', complete: coverage.complete },
    ];
  });
}

/**
 * The checkpoint from before a turn of a directory.
 *
 * @throws TurnbackError `NOT_FOUND`; `INVALID_ARGUMENT` when there are several, because a turn's id came back
 */
export async function checkpointOfTurn(manager: CheckpointManager, directory: string, turnId: string): Promise<Turn> {
  const sandbox = await manager.sandboxIdOf(directory);
  const all = turnsOf(await manager.listCheckpoints(sandbox)).filter((turn) => turn.turnId === turnId);
  const shown = printable(turnId.length > 60 ? `${turnId.slice(0, 60)}…` : turnId);
  const [first] = all;
  if (first === undefined) {
    throw new TurnbackError(
      'NOT_FOUND',
      `no checkpoint of this directory is of turn ${shown}; \`turnback turns\` shows which there are, --of names another directory`,
    );
  }
  // Late ones came after a part of the turn: the first one of the turn is the one from before it.
  const fresh = all.filter(({ late }) => !late);
  const [only = first, another] = fresh.length > 0 ? fresh : all;
  if (another !== undefined) {
    throw invalidArgument(
      '--turn',
      `${all.length} checkpoints are of turn ${shown}: give the ID of one instead; \`turnback turns\` shows them`,
    );
  }
  return only;
}
