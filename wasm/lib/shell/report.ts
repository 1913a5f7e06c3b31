import type { Attempt } from './attempt.js';
import { Once, type SafeLog } from './log.js';
import type { Verdict } from './verdict.js';

/** What a batch is about, for the log. */
interface About {
  sandboxId: string;
  turnId: string | undefined;
}

/** Says what went wrong, once: one line for a failure or time-out, however many batches it concerns (G5). */
export class Reports {
  readonly #log: SafeLog;
  /** How long a batch waits at most. */
  timeoutMs: number;
  readonly #exhausted = new Once();
  /** What was said since the last `flush`: batches that leave together are one event. */
  readonly #said = new Set<string>();

  constructor(log: SafeLog, timeoutMs: number) {
    this.#log = log;
    this.timeoutMs = timeoutMs;
  }

  /** The events of this moment are over. */
  flush(): void {
    this.#said.clear();
  }

  attemptFailed(attempt: Attempt, error: unknown): void {
    attempt.error = error;
    if (attempt.reported) return;
    attempt.reported = true;
    const { sandboxId, turnId } = attempt;
    this.#log.say(
      'warn',
      { sandboxId, turnId, err: error },
      'no checkpoint was made before a batch: the driver failed',
    );
  }

  verdict(verdict: Verdict, { sandboxId, turnId }: About, attempt: Attempt | undefined): void {
    const fields = { sandboxId, turnId, reason: verdict.reason, durationMs: verdict.durationMs };
    switch (verdict.reason) {
      case 'new_turn':
      case 'earlier_batches_ran': {
        const { checkpointId, late, partial } = verdict;
        this.#log.say('info', { ...fields, checkpointId, late, partial }, 'checkpoint made before a batch');
        break;
      }
      case 'unfinished':
        if (attempt?.reported) break;
        if (attempt !== undefined) attempt.reported = true;
        this.#log.say(
          'warn',
          fields,
          `no checkpoint was made before a batch: it took longer than ${this.timeoutMs} ms`,
        );
        break;
      case 'queued':
        this.#once(fields, 'no checkpoint was made before a batch: another turn on its sandbox took all the time');
        break;
      case 'attempts_exhausted':
        if (!this.#exhausted.first(JSON.stringify([sandboxId, turnId]))) break;
        this.#log.say(
          'warn',
          fields,
          'no checkpoint was made before a batch: too many attempts of its turn have failed',
        );
        break;
      default:
        break;
    }
  }

  refused(verdict: Verdict, error: unknown): void {
    this.#log.say(
      'warn',
      { reason: verdict.reason, err: error },
      verdict.reason === 'invalid_batch'
        ? 'no checkpoint was made before a batch: it is no batch that the guard can understand'
        : 'no checkpoint was made before a batch: the guard broke',
    );
  }

  #once(fields: { sandboxId: string; turnId: string | undefined; reason: string }, message: string): void {
    const key = JSON.stringify([fields.sandboxId, fields.turnId, fields.reason]);
    if (this.#said.has(key)) return;
    this.#said.add(key);
    this.#log.say('warn', fields, message);
  }
}
