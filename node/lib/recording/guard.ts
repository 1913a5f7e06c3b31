import type { Batch, Guard, Verdict } from 'turnback-policy/shell';
import type { CommandGuard } from '../bash/types.js';
import { isTurnbackError } from '../errors.js';
import { measured } from './driver.js';
import type { Attached } from './marks.js';
import type { Timeline } from './timeline.js';

/** A guard that a timeline hears of. What it answers, and when, is the other's. */
export function recordedGuard(timeline: Timeline, { options, make, isReadOnly }: Attached): Guard & CommandGuard {
  const { driver, isReadOnly: own } = options;
  const proof = typeof own === 'function' ? own : isReadOnly;
  const whole = typeof driver === 'object' && driver !== null && typeof driver.createCheckpoint === 'function';
  const guard = make(whole ? { ...options, driver: measured(driver, timeline) } : options);
  return {
    beforeBatch: (batch) => {
      const asked = timeline.asked(batch);
      const verdict = guard.beforeBatch(batch);
      if (asked !== undefined) {
        asked.asking = false;
        // Heard of before whoever asked hears of it, and in nobody's way.
        verdict.then(
          (answer) => timeline.answered(asked, answer, isProven(batch, proof)),
          (error) => timeline.refused(asked, verdictIn(error), isProven(batch, proof)),
        );
      }
      return verdict;
    },
    release: (batch) => {
      timeline.released(batch);
      guard.release(batch);
    },
    forget: (sandboxId) => guard.forget(sandboxId),
    ended: (batch) => timeline.ended(batch),
  };
}

/** What is said of a batch that must not run (`onFailure: 'block'`). */
function verdictIn(error: unknown): Verdict | undefined {
  return isTurnbackError(error) ? (error.details.verdict as Verdict | undefined) : undefined;
}

/** Whether everything that a batch does is proven to only read (G14). */
function isProven(batch: Batch, proof: (command: string) => boolean): boolean {
  try {
    const { command } = batch;
    if (command === undefined) return false;
    const commands = typeof command === 'string' ? [command] : [...command];
    return commands.length > 0 && commands.every((one) => proof(one) === true);
  } catch {
    return false;
  }
}
