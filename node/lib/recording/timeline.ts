/**
 * What a recording makes of what it hears. A scenario says when an agent would begin each batch if nothing ever waited, and what is heard is
 * when it did begin: every wait pushed back what came after it in its sandbox. So that push is taken off again here.
 */
import type { Batch, Verdict } from 'turnback-policy/shell';
import type { Attempt, Attempts } from './driver.js';
import type { RecordedAttempt, RecordedBatch } from './line.js';
import { TOLD } from './marks.js';
import type { Names } from './names.js';
import { OpenBatches } from './open.js';

/** A batch that has asked. */
export interface Asked {
  readonly batch: Batch;
  readonly sandboxId: string;
  readonly turnId: string | undefined;
  /** Whether its end will be told. */
  readonly told: boolean;
  readonly atMs: number;
  /** How far it was pushed back by the waits before it. */
  readonly pushedMs: number;
  /** It is asking just now: an attempt that begins is its own, whoever else has not yet heard the guard's answer. */
  asking: boolean;
  /** The attempt that it led, or waited for with others. */
  attempt?: Attempt | undefined;
  /** Once it was let through: it runs. */
  running?: Running;
}

interface Running {
  readonly sinceMs: number;
  readonly verdict: Verdict;
  readonly readOnly: boolean;
}

export interface TimelineOptions {
  clock: { now(): number };
  names: Names;
  /** Whether the end of every batch will be told. */
  told: boolean;
  write(batch: RecordedBatch): void;
}

/** So many batches are kept of which nobody said that they are over. */
const MOST_OPEN = 10_000;

/** For so many sandboxes it is known how far they are pushed back. */
const MOST_SANDBOXES = 100_000;

/** Reasons for which there was no batch that anybody could understand, or it did not run. */
const NO_BATCH: ReadonlySet<string> = new Set(['invalid_batch', 'cancelled']);

/** Hears of batches and attempts, and writes each batch when it is over. None of its methods throws. */
export class Timeline implements Attempts {
  readonly #options: TimelineOptions;
  readonly #open = new OpenBatches();
  /** How far each sandbox is pushed back by now. */
  readonly #pushedMs = new Map<string, number>();
  /** The last attempt for each turn, of the sandboxes where something is open. */
  readonly #latest = new Map<string, Map<string | undefined, Attempt>>();
  readonly #originMs: number;
  #nowMs = 0;
  #closed = false;

  constructor(options: TimelineOptions) {
    this.#options = options;
    this.#originMs = this.#clock() ?? 0;
  }

  /** Whole milliseconds since the beginning, never less than before. */
  now(): number {
    const now = Math.floor((this.#clock() ?? this.#originMs) - this.#originMs);
    if (now > this.#nowMs && now <= Number.MAX_SAFE_INTEGER) this.#nowMs = now;
    return this.#nowMs;
  }

  /** A batch asks. */
  asked(batch: Batch): Asked | undefined {
    if (this.#closed) return undefined;
    return quietly(() => {
      const { sandboxId, turnId } = batch;
      if (typeof sandboxId !== 'string') return undefined;
      const atMs = this.now();
      const told = this.#options.told || (TOLD in batch && batch[TOLD] === true);
      if (!told) this.#next(sandboxId, turnId, atMs);
      const pushedMs = this.#pushedMs.get(sandboxId) ?? 0;
      const asked: Asked = { batch, sandboxId, turnId: turnId ?? undefined, told, atMs, pushedMs, asking: true };
      this.#open.add(asked);
      return asked;
    });
  }

  /** The driver begins an attempt: the batch that asks leads it, else the first that waits for one. */
  began(sandboxId: string, turnId: string | undefined, attempt: Attempt): void {
    const waiting = this.#open
      .of(sandboxId)
      .filter((asked) => asked.running === undefined && asked.attempt === undefined && asked.turnId === turnId);
    const leader = waiting.find(({ asking }) => asking) ?? waiting[0];
    if (leader !== undefined) leader.attempt = attempt;
    if (waiting.length === 0) return;
    const turns = this.#latest.get(sandboxId) ?? new Map();
    this.#latest.set(sandboxId, turns.set(turnId, attempt));
  }

  /** The guard let a batch run. */
  answered(asked: Asked, verdict: Verdict, readOnly: boolean): void {
    quietly(() => {
      // Released while it waited.
      if (!this.#open.has(asked)) return;
      if (NO_BATCH.has(verdict.reason)) return this.#close(asked);
      this.#share(asked, verdict);
      asked.running = { sinceMs: this.now(), verdict, readOnly };
      for (let oldest = this.#open.over(MOST_OPEN); oldest !== undefined; oldest = this.#open.over(MOST_OPEN)) {
        this.#end(oldest, this.now());
      }
    });
  }

  /** The guard did not let it run. That is no time of its own, and pushes nothing back. */
  refused(asked: Asked, verdict: Verdict | undefined, readOnly: boolean): void {
    quietly(() => {
      if (!this.#open.has(asked)) return;
      if (verdict !== undefined) this.#share(asked, verdict);
      this.#close(asked);
      if (verdict === undefined || NO_BATCH.has(verdict.reason)) return;
      const sinceMs = this.now();
      this.#write(asked, { sinceMs, verdict, readOnly }, 0);
    });
  }

  /** A batch is over, says who ran it. */
  ended(batch: Batch): void {
    quietly(() => {
      const asked = this.#open.find(batch);
      if (asked !== undefined) this.#end(asked, this.now());
    });
  }

  /** A batch did not run after all: it is in no recording. */
  released(batch: Batch): void {
    quietly(() => {
      const asked = this.#open.find(batch) ?? this.#open.last(batch.sandboxId, batch.turnId);
      if (asked !== undefined) this.#close(asked);
    });
  }

  /** What runs now ends here, and nothing more is heard. */
  close(): void {
    this.#closed = true;
    for (const asked of this.#open.all()) this.#end(asked, asked.told ? this.now() : 0);
  }

  /** Another batch of a sandbox asks: what ran there until now, and whose end nobody will tell, is over. */
  #next(sandboxId: string, turnId: string | undefined, atMs: number): void {
    for (const asked of this.#open.of(sandboxId)) {
      if (asked.told || asked.running === undefined) continue;
      // When a turn's last batch ended is not to be known from the next turn, which a person began.
      this.#end(asked, asked.turnId === turnId ? atMs : 0);
    }
  }

  /**
   * A batch that shared an attempt may have asked in the same millisecond as the one that led it, and in a replay it may be first: then
   * what the driver did has to be known of it as well.
   */
  #share(asked: Asked, { outcome, reason }: Verdict): void {
    if (outcome !== 'joined' && reason !== 'driver_failed' && reason !== 'unfinished') return;
    asked.attempt ??= this.#latest.get(asked.sandboxId)?.get(asked.turnId);
  }

  #close(asked: Asked): void {
    this.#open.delete(asked);
    if (!this.#open.any(asked.sandboxId)) this.#latest.delete(asked.sandboxId);
  }

  #end(asked: Asked, atMs: number): void {
    this.#close(asked);
    const { running } = asked;
    if (running === undefined) return;
    this.#push(asked.sandboxId, asked.pushedMs + running.sinceMs - asked.atMs);
    this.#write(asked, running, Math.max(0, atMs - running.sinceMs));
  }

  /** What comes next in the sandbox comes so much later than it would have. */
  #push(sandboxId: string, ms: number): void {
    const before = this.#pushedMs.get(sandboxId) ?? 0;
    if (ms <= before) return;
    // Behind those that were not pushed for longer: they are forgotten first.
    this.#pushedMs.delete(sandboxId);
    this.#pushedMs.set(sandboxId, ms);
    if (this.#pushedMs.size <= MOST_SANDBOXES) return;
    for (const oldest of this.#pushedMs.keys()) {
      this.#pushedMs.delete(oldest);
      return;
    }
  }

  #write({ sandboxId, turnId, atMs, pushedMs, attempt }: Asked, running: Running, durationMs: number): void {
    const { names, write } = this.#options;
    const did = attemptOf(attempt, running);
    write({
      sandbox: names.sandbox(sandboxId),
      turn: turnId === undefined ? null : names.turn(turnId),
      startMs: atMs - pushedMs,
      durationMs,
      kind: running.readOnly ? 'read_only' : 'destructive',
      ...(did && { attempt: did }),
    });
  }

  #clock(): number | undefined {
    const now = quietly(() => this.#options.clock.now());
    return Number.isFinite(now) ? now : undefined;
  }
}

/** What the driver did: as the guard counted it, save that an answer which came too late is an answer. */
function attemptOf(attempt: Attempt | undefined, { sinceMs, verdict }: Running): RecordedAttempt | undefined {
  if (attempt === undefined) return undefined;
  const { beganMs, answer } = attempt;
  const untilMs = (atMs: number) => Math.max(0, atMs - beganMs);
  switch (verdict.outcome) {
    case 'created':
    case 'joined':
      return { ms: untilMs(answer?.atMs ?? sinceMs), outcome: 'succeeded' };
    case 'failed':
      return { ms: untilMs(answer?.atMs ?? sinceMs), outcome: 'failed' };
    case 'timed_out':
      return answer?.succeeded
        ? { ms: untilMs(answer.atMs), outcome: 'succeeded' }
        : { ms: untilMs(sinceMs), outcome: 'stalled' };
    default:
      return undefined;
  }
}

/** What cannot be heard is not recorded, and disturbs nobody. */
function quietly<T>(hear: () => T): T | undefined {
  try {
    return hear();
  } catch {
    return undefined;
  }
}
