import { Alarm } from './alarm.js';
import { type Attempt, Attempts } from './attempt.js';
import { type Batch, checkedBatch, hasFired, idsOf, isText } from './batch.js';
import { Elapsed, SYSTEM_CLOCK } from './clock.js';
import { Covered } from './covered.js';
import type { Driver, Result } from './driver.js';
import { isInvalidArgument, required } from './error.js';
import type { Gate, GateVerdict, Input, Output, Start } from './gate.js';
import type { Host } from './host.js';
import { Once, SafeLog } from './log.js';
import { Made } from './made.js';
import { Numbers } from './numbers.js';
import { checkPrefix, DEFAULT_PREFIX, namingPrefix, openGate } from './opening.js';
import type { CheckedOptions } from './options.js';
import { Probes } from './probes.js';
import { Reports } from './report.js';
import { Restores } from './restores.js';
import type { Guard } from './surface.js';
import { needsCheckpoint, unprotected, type Verdict, verdictOf } from './verdict.js';
import { type Waiter, Waiting } from './waiting.js';

/** The number of no batch: those of batches begin with 1. */
const NOBODY = 0;

/** Nothing speaks against a checkpoint. */
const ON = { flagEnabled: true, paused: false, hasDriver: true } as const;

/** Joins the gate, which decides, with a driver, a clock and those who wait. */
export class ShellGuard implements Guard {
  readonly #host: Host;
  #gate: Gate | undefined;
  #options: CheckedOptions;
  readonly #log: SafeLog;
  readonly #probes: Probes;
  readonly #restores = new Restores(() => this.#attempts.sandboxes());
  readonly #made = new Made();
  readonly #time: Elapsed;
  readonly #alarm: Alarm;
  readonly #waiting = new Waiting();
  readonly #numbers = new Numbers();
  readonly #attempts: Attempts;
  readonly #reports: Reports;
  #covered: Covered | undefined;
  readonly #outputs: Output[] = [];
  #performing = false;

  /** Without a driver, and no other to come, there is nothing to remember, and no gate. */
  constructor(host: Host, options: CheckedOptions) {
    const { driver, timeoutMs, clock = SYSTEM_CLOCK } = options;
    this.#host = host;
    this.#options = options;
    if (driver === undefined) checkPrefix(host, options);
    else this.#open();
    this.#log = new SafeLog(options.logger);
    this.#probes = new Probes(host, options, this.#log, this.#restores);
    const warned = new Once();
    this.#time = new Elapsed(clock, (error) => {
      if (warned.first('clock'))
        this.#log.say('warn', { err: error }, 'the clock of a guard failed; it goes on without it');
    });
    this.#alarm = new Alarm(this.#time, (now) => this.#handle(() => this.#feed({ type: 'tick' }, now)));
    this.#reports = new Reports(this.#log, timeoutMs);
    this.#attempts = new Attempts(host, driver, this.#log, (attempt, result) => this.#settled(attempt, result));
  }

  #open(): void {
    this.#gate = openGate(this.#host, this.#options);
    this.#covered = new Covered(this.#gate);
  }

  /** The options are others from now on. Throws `INVALID_ARGUMENT`, and nothing changed then. */
  configure(options: CheckedOptions): void {
    const { driver, timeoutMs, prefix = DEFAULT_PREFIX, clock = SYSTEM_CLOCK, logger } = options;
    const { driver: formerly, timeoutMs: before, prefix: known = DEFAULT_PREFIX } = this.#options;
    if (timeoutMs !== before || prefix !== known) {
      namingPrefix(this.#host, () => {
        checkPrefix(this.#host, options);
        this.#feed({ type: 'options', timeoutMs, prefix });
      });
    }
    this.#options = options;
    this.#reports.timeoutMs = timeoutMs;
    this.#log.use(logger);
    this.#probes.use(options);
    this.#time.use(clock);
    if (driver !== formerly || (driver !== undefined && this.#gate === undefined)) this.#useDriver(driver);
  }

  /** Whether it can go on with these options: batches that wait keep the driver that they were asked with. */
  accepts({ driver }: CheckedOptions): boolean {
    if (driver === this.#options.driver) return true;
    for (const _ of this.#attempts.sandboxes()) return false;
    return true;
  }

  /** No checkpoint of the driver that there was counts any more. What ran has run all the same. */
  #useDriver(driver: Driver | undefined): void {
    this.#attempts.use(driver);
    this.#restores.reset();
    if (this.#gate === undefined) this.#open();
    else this.#handle(() => this.#feed({ type: 'uncovered' }));
  }

  /** Without a driver: what runs is remembered from now on, for one that may come. Never throws. */
  remember(): void {
    try {
      if (this.#gate === undefined) this.#open();
    } catch {
      // There is nothing that a driver could be used with either: that is said when there is one.
    }
  }

  /**
   * A batch runs without having been asked for, or without an answer: a checkpoint of its turn is a late one from now on, as far as
   * can be read which turn that is. Never throws.
   */
  ran(batch: unknown): void {
    if (this.#gate === undefined || typeof batch !== 'object' || batch === null) return;
    try {
      const { sandboxId, turnId } = idsOf(this.#host, batch);
      if (!isText(sandboxId) || !isText(turnId)) return;
      this.#noticeRestores(sandboxId, this.#time.now());
      this.#feed({ type: 'batch', batch: NOBODY, sandboxId, turnId, ...ON, hasDriver: false });
    } catch {
      // Whatever is wrong with the batch, or the guard, was said when it was refused.
    }
    this.#handle(() => {});
  }

  beforeBatch(batch: Batch): Promise<Verdict> {
    // Also with the flag off: such a batch leaves no trace on its turn, whatever else is said of it (G14).
    let readOnly = false;
    try {
      readOnly = this.#probes.readOnly(batch);
      const enabled = this.#probes.enabled();
      const passed = enabled && !readOnly ? this.#pass(batch) : undefined;
      return passed ?? this.#ask(batch, checkedBatch(this.#host, batch), enabled, readOnly);
    } catch (error) {
      return this.#refused(batch, error, readOnly);
    }
  }

  release(batch: { sandboxId: string; turnId: string }): void {
    this.#tell('release', () => {
      const { sandboxId, turnId = '' } = checkedBatch(this.#host, batch);
      const number = this.#numbers.of(batch);
      // It held nothing, or is released already; and one that only reads holds nothing, whatever object names it.
      if (number === false || (number === undefined && this.#probes.readOnly(batch))) return;
      this.#numbers.left(batch);
      this.#release(sandboxId, turnId, number);
    });
  }

  forget(sandboxId: string): void {
    this.#tell('forget', () => this.#forget(checkedBatch(this.#host, { sandboxId }).sandboxId));
  }

  /** A batch of the turn did not run. When none has, nobody counts on its checkpoint, and its deletion says nothing. */
  #release(sandboxId: string, turnId: string, batch: number | undefined): void {
    this.#restores.used(sandboxId);
    const known = this.#made.get(sandboxId, turnId) !== undefined && this.#isCovered(sandboxId, turnId);
    this.#feed({ type: 'released', sandboxId, turnId, ...(batch === undefined ? {} : { batch }) });
    if (known && !this.#isCovered(sandboxId, turnId)) this.#made.delete(sandboxId, turnId);
  }

  /** Whether the turn has a checkpoint: a batch that only reads, of a store that is paused, leaves no trace. */
  #isCovered(sandboxId: string, turnId: string): boolean {
    this.#feed({ type: 'batch', batch: NOBODY, sandboxId, turnId, ...ON, paused: true, readOnly: true });
    const at = this.#outputs.findIndex((output) => output.type === 'verdict' && output.batch === NOBODY);
    const answer = this.#outputs[at];
    if (answer?.type !== 'verdict') return false;
    this.#outputs.splice(at, 1);
    return answer.protected;
  }

  #forget(sandboxId: string): void {
    this.#feed({ type: 'forgotten', sandboxId });
    this.#made.forget(sandboxId);
  }

  /** The short way of a batch whose turn has its checkpoint (W8). */
  #pass(batch: Batch): Promise<Verdict> | undefined {
    const covered = this.#covered;
    // While outputs are being performed, the gate's next deadline is not known here.
    if (covered === undefined || this.#performing || typeof batch !== 'object' || batch === null) return undefined;
    const { sandboxId, turnId } = idsOf(this.#host, batch);
    if (typeof sandboxId !== 'string' || typeof turnId !== 'string') return undefined;
    if (covered.find(sandboxId, turnId) === undefined && !(isText(sandboxId) && isText(turnId))) return undefined;
    const now = this.#time.now();
    this.#noticeRestores(sandboxId, now);
    // Only now: by a restore nothing is covered any more.
    const found = covered.find(sandboxId, turnId);
    const run = found !== undefined && covered.again(found, now) ? found : covered.ask(sandboxId, turnId, now);
    if (run === undefined) return undefined;
    if (run.checkpointId === undefined || !this.#probes.deleted(run.checkpointId)) {
      this.#numbers.covered(batch);
      return run.verdict;
    }
    this.#gone(sandboxId, turnId, run.checkpointId);
    return undefined;
  }

  /** The checkpoint is gone under which a batch has just been let through: that it was is taken back, and it asks anew. */
  #gone(sandboxId: string, turnId: string, checkpointId: string): void {
    this.#feed({ type: 'released', sandboxId, turnId });
    this.#deleted(sandboxId, turnId, checkpointId);
  }

  #deleted(sandboxId: string, turnId: string, checkpointId: string): void {
    this.#made.delete(sandboxId, turnId);
    this.#feed({ type: 'deleted', sandboxId, checkpointId, turnId });
    this.#log.say(
      'info',
      { sandboxId, checkpointId },
      'the checkpoint of a turn was deleted: it protects nothing any more',
    );
  }

  #ask(given: Batch, { sandboxId, turnId, signal }: Batch, flagEnabled: boolean, readOnly: boolean): Promise<Verdict> {
    if (this.#gate === undefined) {
      return Promise.resolve(unprotected('skipped', flagEnabled ? 'no_driver' : 'flag_off'));
    }
    // Also with the flag off: what is counted from here on belongs to the restored sandbox.
    if (turnId !== undefined) {
      this.#noticeRestores(sandboxId, this.#time.now());
      const made = this.#made.get(sandboxId, turnId);
      // Also one that the gate has forgotten with its turn: the turn ran, and it is no new one.
      if (made !== undefined && this.#probes.deleted(made)) this.#deleted(sandboxId, turnId, made);
    }
    // Nobody is asked for the sake of a batch that needs nothing.
    const paused = flagEnabled && !readOnly && this.#probes.paused();
    const { block } = this.#options;
    const asked = { given, sandboxId, turnId, block };
    const { number: batch, verdict } = this.#waiting.add(asked, signal, (number) => {
      this.#handle(() => this.#feed({ type: 'cancelled', batch: number }));
    });
    this.#numbers.add(given, batch);
    const hasDriver = this.#options.driver !== undefined;
    try {
      const turn = turnId === undefined ? {} : { turnId };
      this.#feed({ type: 'batch', batch, sandboxId, ...turn, flagEnabled, paused, hasDriver, readOnly });
    } catch (error) {
      this.#waiting.take(batch);
      throw error;
    }
    this.#handle(() => {
      // Before anything is done for it: a driver must not start for somebody who has gone.
      if (hasFired(signal)) this.#feed({ type: 'cancelled', batch });
    });
    return verdict;
  }

  /** No batch, or a guard that broke: said once, and in nobody's way. */
  #refused(batch: unknown, error: unknown, readOnly: boolean): Promise<Verdict> {
    const verdict = unprotected('failed', isInvalidArgument(error) ? 'invalid_batch' : 'guard_failed');
    this.#reports.refused(verdict, error);
    if (this.#options.block) return Promise.reject(required(this.#host, verdict, error));
    if (!readOnly) this.ran(batch);
    return Promise.resolve(verdict);
  }

  #tell(method: string, change: () => void): void {
    if (this.#gate === undefined) return;
    try {
      change();
    } catch (error) {
      this.#log.say('warn', { err: error }, `guard.${method} was not understood; nothing was changed`);
    }
    this.#handle(() => {});
  }

  #settled(attempt: Attempt, answer: Result): void {
    const result = this.#stillThere(answer);
    if ('error' in result) this.#reports.attemptFailed(attempt, result.error);
    this.#handle(() => {
      this.#noticeRestores(attempt.sandboxId, this.#time.now());
      if ('error' in result) this.#feed({ type: 'failed', attempt: attempt.number });
      else if ('paused' in result) this.#feed({ type: 'paused', attempt: attempt.number }, this.#alarm.inTime());
      else this.#feed({ type: 'created', attempt: attempt.number, ...result }, this.#alarm.inTime());
    });
  }

  #stillThere(result: Result): Result {
    if (!('partial' in result) || result.checkpointId === undefined) return result;
    if (!this.#probes.deleted(result.checkpointId)) return result;
    return { error: new Error(`the checkpoint ${result.checkpointId} was deleted before anybody could count on it`) };
  }

  #noticeRestores(sandboxId: string, now: number): void {
    if (this.#gate === undefined) return;
    const restored = this.#probes.restored(sandboxId, now);
    if (restored === 'yes') this.#forget(sandboxId);
    else if (restored === 'perhaps') this.#feed({ type: 'uncovered', sandboxId });
  }

  /** An event whose failure nobody could be told of. A gate that breaks must leave nobody waiting. */
  #handle(event: () => void): void {
    try {
      event();
      this.#perform();
    } catch (error) {
      this.#broke(error);
    }
  }

  #feed(input: Input, now = this.#time.now()): void {
    // A limit is over. What is certain by now was made before it, though its promise tells it later.
    if (now >= this.#alarm.due) this.#attempts.settleEarly();
    this.#covered?.tell();
    const answer = this.#gate?.handle(JSON.stringify(input), now) ?? '[]';
    for (const output of JSON.parse(answer) as Output[]) this.#outputs.push(output);
  }

  /** Does what the gate wants done, in its order, also when doing it makes something new happen: that waits in the queue, not on the stack. */
  #perform(): void {
    if (this.#performing) return;
    this.#performing = true;
    try {
      for (let output = this.#outputs.shift(); output !== undefined; output = this.#outputs.shift()) {
        this.#do(output);
      }
    } finally {
      this.#performing = false;
    }
    this.#reports.flush();
  }

  #do(output: Output): void {
    switch (output.type) {
      case 'start':
        this.#start(output);
        break;
      case 'verdict':
        this.#answer(output);
        break;
      case 'abort':
        this.#attempts.abort(output.attempt);
        break;
      case 'delete_late':
        this.#attempts.deleteLate(output.attempt, output.checkpointId);
        break;
      case 'timeout':
      case 'idle':
        this.#alarm.expect(output);
        if (this.#covered !== undefined) this.#covered.due = this.#alarm.due;
        break;
    }
  }

  #start(start: Start): void {
    const gone = this.#outputs.some((output) => output.type === 'abort' && output.attempt === start.attempt);
    if (gone) this.#feed({ type: 'failed', attempt: start.attempt });
    else this.#attempts.start(start, start.deadline - this.#time.now());
  }

  #answer(given: GateVerdict): void {
    const waiter = this.#waiting.get(given.batch);
    if (waiter === undefined) return;
    const answer = this.#withoutDeleted(given, waiter);
    if (answer === undefined) return;
    this.#waiting.take(given.batch);
    const verdict = verdictOf(answer);
    const { sandboxId, turnId } = waiter;
    if (verdict.reason === 'same_turn') this.#numbers.unnumbered(waiter.given);
    else if (verdict.reason === 'read_only' || turnId === undefined) this.#numbers.left(waiter.given);
    this.#restores.used(sandboxId);
    if (verdict.outcome === 'created' && turnId !== undefined && verdict.checkpointId !== undefined) {
      this.#made.add(sandboxId, turnId, verdict.checkpointId);
    }
    const attempt = this.#attempts.ofSandbox(sandboxId);
    this.#reports.verdict(verdict, waiter, attempt);
    if (!waiter.block || !needsCheckpoint(verdict)) {
      waiter.resolve(verdict);
      return;
    }
    waiter.reject(required(this.#host, verdict, verdict.reason === 'driver_failed' ? attempt?.error : undefined));
    // It does not run: the next batch of the turn is no later for it (F29).
    if (turnId !== undefined) this.#tell('release', () => this.#release(sandboxId, turnId, given.batch));
  }

  /** The gate's answer, if the checkpoint is there that it counts on; none when the batch asks anew. */
  #withoutDeleted(answer: GateVerdict, { sandboxId, turnId }: Waiter): GateVerdict | undefined {
    const { reason, outcome, checkpointId } = answer;
    // What was made just now was looked at when it was made.
    if (turnId === undefined || checkpointId === undefined || outcome === 'created' || outcome === 'joined')
      return answer;
    if (!this.#probes.deleted(checkpointId)) return answer;
    if (reason !== 'same_turn') {
      this.#deleted(sandboxId, turnId, checkpointId);
      const { checkpointId: _, ...rest } = answer;
      return { ...rest, protected: false, late: false, partial: false };
    }
    this.#gone(sandboxId, turnId, checkpointId);
    this.#feed({ type: 'batch', batch: answer.batch, sandboxId, turnId, ...ON });
    return undefined;
  }

  #broke(error: unknown): void {
    this.#log.say('error', { err: error }, 'the guard broke: batches run without checkpoints; report this message');
    this.#outputs.length = 0;
    this.#alarm.off();
    this.#attempts.abortAll();
    const verdict = unprotected('failed', 'guard_failed');
    for (const waiter of this.#waiting.takeAll()) {
      if (waiter.block) waiter.reject(required(this.#host, verdict, error));
      else waiter.resolve(verdict);
    }
  }
}
