import type { Gate } from './gate.js';
import { coveredVerdict, type Verdict } from './verdict.js';

/** The batches of one turn, one after the other, whose turn the gate has said to be covered. */
export interface Run {
  readonly sandboxId: string;
  readonly turnId: string;
  /** The checkpoint that they pass under, if the gate remembers its id. */
  readonly checkpointId: string | undefined;
  readonly verdict: Promise<Verdict>;
  /** When the last of them passed, by the guard's time. */
  lastMs: number;
  /** The place of the last of them among all batches that passed. */
  order: number;
  /** How many of them the gate has not been told of. */
  untold: number;
}

/** The gate counts no further: a turn of so many batches has as many as it will ever know of. */
const COUNTED = 255;

/** How many turns are told apart here: as many as work at once, in one sandbox or several. */
const MOST = 1024;

/** So many batches at most are told at once: each is a call of the gate, and nobody is to wait long for them. */
const MOST_UNTOLD = 2048;

/**
 * The short way of a batch whose turn has its checkpoint (W8). The gate says so; as long as nothing else happens, the next
 * batch of the same turn is a look at variables. Such batches are counted here, and told in their order before the gate hears
 * of anything else (`tell`), so that it is exactly as if it had been told each time.
 */
export class Covered {
  readonly #gate: Gate;
  /** By sandbox; of each the turns that are told apart, which are few. */
  readonly #runs = new Map<string, Run[]>();
  #size = 0;
  /** Those with batches that the gate has not been told of. */
  #untold: Run[] = [];
  #untoldBatches = 0;
  #passed = 0;
  /**
   * The gate's next deadline, by the guard's time: whatever is due comes first. One of them is its look at sandboxes that were not
   * used for 24 hours, so that the gate cannot have forgotten this one earlier.
   */
  #due = Number.POSITIVE_INFINITY;

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  /** The batches of a turn whose last one was covered. */
  find(sandboxId: string, turnId: string): Run | undefined {
    const runs = this.#runs.get(sandboxId);
    if (runs === undefined) return undefined;
    for (const run of runs) if (run.turnId === turnId) return run;
    return undefined;
  }

  /** The gate's next deadline is another. */
  set due(at: number) {
    this.#due = at;
  }

  /** The next batch of a turn that was found, and of which nothing else was heard since: whether the gate need not be asked. */
  again(run: Run, nowMs: number): boolean {
    if (nowMs >= this.#due) return false;
    if (this.#untoldBatches >= MOST_UNTOLD) this.#count();
    this.#passed += 1;
    [run.lastMs, run.order] = [nowMs, this.#passed];
    if (run.untold === 0) this.#untold.push(run);
    if (run.untold < COUNTED) {
      run.untold += 1;
      this.#untoldBatches += 1;
    }
    return true;
  }

  /** The next batch of any turn: the batches that it is one of, if the turn is covered. */
  ask(sandboxId: string, turnId: string, nowMs: number): Run | undefined {
    this.#count();
    const answer = this.#gate.passCovered(sandboxId, turnId, nowMs);
    if (answer === undefined || answer === null) {
      this.#clear();
      return undefined;
    }
    if (this.#size >= MOST) this.#clear();
    const verdict = coveredVerdict(answer);
    const { checkpointId } = verdict;
    const settled = Promise.resolve(verdict);
    const run: Run = { sandboxId, turnId, checkpointId, verdict: settled, lastMs: nowMs, order: 0, untold: 0 };
    const runs = this.#runs.get(sandboxId);
    if (runs === undefined) this.#runs.set(sandboxId, [run]);
    else {
      const at = runs.findIndex((other) => other.turnId === turnId);
      if (at >= 0) this.#size -= 1;
      runs.splice(at < 0 ? runs.length : at, 1, run);
    }
    this.#size += 1;
    return run;
  }

  /** The gate is about to hear of something else: first it hears of the batches that passed. */
  tell(): void {
    this.#count();
    this.#clear();
  }

  #clear(): void {
    if (this.#size === 0) return;
    this.#runs.clear();
    this.#size = 0;
  }

  #count(): void {
    if (this.#untold.length === 0) return;
    // The gate has to know which turn of a sandbox was used last: each turn's batches together, in the order of its last one.
    const runs = this.#untold.sort((a, b) => a.order - b.order);
    [this.#untold, this.#untoldBatches] = [[], 0];
    for (const run of runs) {
      const { sandboxId, turnId, lastMs } = run;
      for (; run.untold > 0; run.untold -= 1) this.#gate.passCovered(sandboxId, turnId, lastMs);
    }
  }
}
