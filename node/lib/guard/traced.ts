import type { Batch, Guard, Verdict } from 'turnback-policy/shell';
import { isTraced, type OperationMessage, traced } from '../observe.js';

/** A guard that tells those who listen on the channels of `turnback` (X4). Without them it costs a look. */
export function tracedGuard(guard: Guard): Guard {
  return {
    beforeBatch: (batch) => tracedBatch(batch, () => guard.beforeBatch(batch)),
    release: (batch) => guard.release(batch),
    forget: (sandboxId) => guard.forget(sandboxId),
  };
}

/** Asks for a batch. */
export function tracedBatch(batch: Batch, ask: () => Promise<Verdict>): Promise<Verdict> {
  return isTraced() ? traced('guard.before_batch', () => about(batch), ask) : ask();
}

function about({ sandboxId, turnId }: Batch): Pick<OperationMessage, 'sandboxId' | 'turnId'> {
  return { sandboxId, turnId };
}
