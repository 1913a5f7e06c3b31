import { isTurnbackError } from '../errors.js';
import { UsageError } from './exit.js';
import { proseIn, typedIn } from './text.js';

/**
 * An error in one line: its code, what it says, and how to take back what was done until then.
 *
 * @param store what the command line named, for the commands that the line tells
 */
export function sentence(error: unknown, store?: string): string {
  if (error instanceof UsageError) return `INVALID_ARGUMENT: ${error.message}; ${error.hint}`;
  if (isTurnbackError(error)) {
    const cause =
      error.code === 'NATIVE_BINARY_MISSING' && error.cause instanceof Error ? ` (${error.cause.message})` : '';
    const { undoCheckpointId: undo, begun } = error.details;
    const back =
      begun === true && typeof undo === 'string' ? `; to take back what it did: ${typedIn(store)('undo', undo)}` : '';
    return `${error.code}: ${proseIn(store, error.message)}${cause}${back}`;
  }
  return `IO: an unexpected error: ${error instanceof Error ? error.message : String(error)}; please report it`;
}
