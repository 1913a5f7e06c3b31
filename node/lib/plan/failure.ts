/** What a plan failed with, and what became of its sandbox, in one error. */
import type { PlanRollback } from './types.js';

/**
 * The failure itself, so that whoever knows it knows it again, with `rolledBack`, `rollback` and `rollbackError` on it. What can
 * carry nothing (no object, or a frozen one) becomes the cause of an error that can.
 */
export function withRollback(failure: unknown, rolled: PlanRollback): unknown {
  try {
    return marked(failure as object, rolled);
  } catch {
    return marked(new Error(`the plan failed: ${textOf(failure)}`, { cause: failure }), rolled);
  }
}

/** @throws TypeError for what can carry nothing */
function marked(error: object, { rolledBack, rollback, rollbackError }: PlanRollback): object {
  // All three: the failure may come from a plan within this one, and say what became of that.
  for (const [name, value] of Object.entries({ rolledBack, rollback, rollbackError })) {
    Object.defineProperty(error, name, { value, enumerable: value !== undefined, writable: true, configurable: true });
  }
  return error;
}

/** One line of whatever was thrown: some values have no text, and some have a megabyte. */
export function textOf(thrown: unknown): string {
  try {
    const text = thrown instanceof Error ? thrown.message : String(thrown);
    return text.length > 500 ? `${text.slice(0, 500)}…` : text;
  } catch {
    return 'something that has no text';
  }
}
