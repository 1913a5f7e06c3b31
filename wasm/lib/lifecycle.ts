import { aString } from './check.js';
import { refusing } from './error.js';
import { policy } from './loader.js';

/** Where a sandbox stands in its life (S2). */
export type SandboxStatus = 'PENDING' | 'CREATED' | 'ACTIVE' | 'COMMITTED' | 'ROLLED_BACK' | 'ERRORED' | 'CLEANED_UP';

/**
 * Whether a sandbox of status `from` may become `to` (S2, S3).
 *
 * @throws TurnbackError with code `INVALID_ARGUMENT` when one of them is no status
 */
export function isLegalTransition(from: SandboxStatus, to: SandboxStatus): boolean {
  const [before, after] = [aString('from', from), aString('to', to)];
  return refusing('from or to', () => policy().isLegalTransition(before, after));
}

/**
 * The statuses that a sandbox of status `from` may become (S2, S3); none after `CLEANED_UP`.
 *
 * @throws TurnbackError with code `INVALID_ARGUMENT` when it is no status
 */
export function allowedTransitions(from: SandboxStatus): SandboxStatus[] {
  const before = aString('from', from);
  return refusing('from', () => policy().allowedTransitions(before)) as SandboxStatus[];
}
