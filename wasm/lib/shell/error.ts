import type { Host } from './host.js';
import type { Verdict } from './verdict.js';

/** Whether something was refused because it could never be right. */
export function isInvalidArgument(error: unknown): boolean {
  try {
    return typeof error === 'object' && error !== null && 'code' in error && error.code === 'INVALID_ARGUMENT';
  } catch {
    // What cannot even be looked at was not made by us.
    return false;
  }
}

/** With `onFailure: 'block'`: the batch must not run (G5). */
export function required(host: Host, verdict: Verdict, cause: unknown): Error {
  return host.error(
    'CHECKPOINT_REQUIRED',
    `no checkpoint was made before this batch (${verdict.outcome}: ${verdict.reason}), and onFailure is 'block': look at the cause, then run the batch again`,
    { details: { verdict }, retryable: verdict.reason !== 'invalid_batch', ...(cause === undefined ? {} : { cause }) },
  );
}
