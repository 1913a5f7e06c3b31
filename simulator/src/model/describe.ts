import { ATTEMPT_OUTCOMES, type Batches, OUTCOMES, type Run } from './columns.js';
import { waited } from './csv.js';
import { duration, moment, plural } from './format.js';
import { turnNames } from './turn-names.js';

/** What the reasons of skipped, failed and timed-out batches mean. The words are those of the guard's verdicts. */
const REASONS: Readonly<Record<string, string>> = {
  read_only: 'it is proven to change nothing',
  within_interval: 'the last checkpoint is not old enough yet',
  never: 'this policy makes none',
  no_turn_id: 'nobody knows its turn',
  no_driver: 'there is no driver',
  flag_off: 'checkpoints are switched off',
  paused: 'checkpoints are paused',
  attempts_exhausted: "all three of the turn's attempts have failed",
  queued: 'another attempt was still in its way',
  driver_failed: 'the driver failed',
  unfinished: 'the driver did not answer in time',
  cancelled: 'it was cancelled',
};

/** A reason in words. */
export const reasonText = (reason: string | undefined): string =>
  reason === undefined ? '' : (REASONS[reason] ?? reason.replaceAll('_', ' '));

/** A turn, by its place in the scenario's; -1: nobody knows. */
export function turnNamed(batches: Batches, turn: number): string {
  const name = turnNames(batches.turns)[turn];
  return name === undefined ? 'no turn id' : `turn ${name}`;
}

/** The turn of a batch. */
export function turnText(batches: Batches, batch: number): string {
  return turnNamed(batches, batches.turn[batch] ?? -1);
}

/** Whether a batch ran although no checkpoint protects it. */
export const isBare = (batches: Batches, run: Run, batch: number): boolean =>
  run.protected[batch] !== 1 && batches.destructive[batch] === 1 && !Number.isNaN(run.start[batch] ?? Number.NaN);

/** What became of a batch's checkpoint, in one sentence. */
export function outcomeText(run: Run, batch: number): string {
  const outcome = OUTCOMES[run.outcome[batch] ?? 0] ?? 'skipped';
  const attempt = run.attempt[batch] ?? -1;
  const name = attempt < 0 ? 'the checkpoint' : `checkpoint ${run.attempts.number[attempt]}`;
  const wait = waited(run, batch);
  const why = reasonText(run.reasons[run.reason[batch] ?? 255]);
  const refused = Number.isNaN(run.start[batch] ?? Number.NaN);
  const then = refused ? 'It was not allowed to run.' : 'It ran all the same.';
  switch (outcome) {
    case 'created':
      return `Waited ${duration(wait)} for ${name}, its own${run.late[batch] === 1 ? ', after earlier batches of its turn had run' : ''}.`;
    case 'joined':
      return `Waited ${duration(wait)} for ${name}, which another batch had begun.`;
    case 'already_covered':
      return attempt < 0 ? 'Its turn has its checkpoint already.' : `Covered by ${name} already; no wait.`;
    case 'skipped':
      return refused ? `No checkpoint: ${why}. ${then}` : `No checkpoint: ${why}.`;
    case 'failed':
      return `The checkpoint failed after ${duration(wait)}. ${then}`;
    case 'timed_out':
      return `Gave up after ${duration(wait)}: ${why === '' ? 'no answer' : why}. ${then}`;
  }
}

/** What it would mean to roll back here, in one sentence. */
export function rollbackText(batches: Batches, run: Run, batch: number): string {
  if (Number.isNaN(run.start[batch] ?? Number.NaN)) return 'Nothing to take back.';
  if (batches.destructive[batch] !== 1) return 'It changes nothing, so there is nothing to take back.';
  const returnsTo = run.returnsTo[batch] ?? -1;
  if (returnsTo < 0) return 'Nothing to go back to: it cannot be taken back.';
  const to = `Rolled back, its sandbox is as it was at ${moment((run.attempts.at[returnsTo] ?? 0) - batches.origin)} (checkpoint ${run.attempts.number[returnsTo]})`;
  const lost = run.lostMs[batch] ?? 0;
  if (lost === 0) return `${to}; no other work is lost.`;
  const turns = run.lostTurns[batch] ?? 0;
  const whose = turns === 0 ? 'of its own turn' : `of ${plural(turns, 'other turn')} as well`;
  return `${to}; that throws away ${duration(lost)} of work of ${plural(run.lostBatches[batch] ?? 0, 'earlier batch', 'earlier batches')}, ${whose}.`;
}

/** What became of an attempt, in one sentence. */
export function attemptText(batches: Batches, run: Run, place: number): string {
  const { attempts } = run;
  const took = duration((attempts.end[place] ?? 0) - (attempts.at[place] ?? 0));
  switch (ATTEMPT_OUTCOMES[attempts.outcome[place] ?? 0]) {
    case 'succeeded':
      return `Took ${took}. ${attempts.kept[place] === 1 ? 'Still kept at the end.' : 'Gone by the end: the retention keeps fewer.'}`;
    case 'failed':
      return `Failed after ${took}.`;
    default: {
      const answer = attempts.driverEnd[place] ?? Number.NaN;
      const then = Number.isNaN(answer)
        ? 'The driver never answered.'
        : `The driver answered at ${moment(answer - batches.origin)}: too late, so it counts for nothing.`;
      return `Given up after ${took}. ${then}`;
    }
  }
}
