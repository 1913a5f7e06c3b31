import type { Batch } from './batch.js';
import type { Verdict } from './verdict.js';

/** Makes at most one checkpoint a turn, before its first batch; shared, bounded, never in the way (G1–G10). */
export interface Guard {
  /**
   * To be awaited directly before a batch runs, after every check that could refuse it. Registers in the same tick. Never
   * throws and never rejects, whatever the batch, the driver and the logger do, save with `onFailure: 'block'`: then it
   * rejects with `CHECKPOINT_REQUIRED`, has `details.verdict`, and the batch must not run.
   */
  beforeBatch(batch: Batch): Promise<Verdict>;
  /**
   * A batch that `beforeBatch` let through did not run after all: the turn's slot is given back, so that the next batch
   * gets a checkpoint of the state right before it (G8). Once for each such batch. Never throws.
   *
   * Pass the very object that `beforeBatch` got, one for each batch: then the guard knows which batch it was. Otherwise it may be any
   * of the turn, and the guard forgets none that may have run: where others wait, or the sandbox was restored meanwhile, the turn may
   * keep a checkpoint that nobody ran under, or a checkpoint be called late that is not.
   */
  release(batch: { sandboxId: string; turnId: string }): void;
  /** The sandbox was restored: what is remembered of it no longer holds (G8). Never throws. */
  forget(sandboxId: string): void;
}
