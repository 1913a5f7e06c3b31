import type { Gate } from './gate.js';
import { coveredVerdict, type Verdict } from './verdict.js';

/** The batches of one turn, one after the other, whose turn the gate has said to be covered. */
interface Run {
  readonly sandboxId: string;
  readonly turnId: string;
  readonly checkpointId: string | undefined;
  readonly verdict: Promise<Verdict>;
  /** When the last of them passed, by the guard's time. */
  lastMs: number;
  /** How many of them the gate has not been told of. */
  untold: number;
}

/** The gate counts no further: a turn of so many batches has as many as it will ever know of. */
const COUNTED = 255;

/** How many turns are told apart here: as many as work at once, in one sandbox or several. */
const MOST = 8;

/**
 * The short way of a batch whose turn has its checkpoint (W8). The gate says so; as long as nothing else happens, the next
 * batch of the same turn is a look at variables. Such batches are counted here, and told in their order before the gate hears
 * of anything else (`tell`), so that it is exactly as if it had been told each time.
 */
export class Covered {
  readonly #gate: Gate;
  /** The one that was used last comes first. */
  readonly #runs: Run[] = [];
  /**
   * The gate's next deadline, by the guard's time: whatever is due comes first. One of them is its look at sandboxes that were not
   * used for 24 hours, so that the gate cannot have forgotten this one earlier.
   */
  #due = Number.POSITIVE_INFINITY;

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  /** Whether this is a batch of a turn whose last one was covered. It then is the first of them. */
  expects(sandboxId: string, turnId: string): boolean {
    const is = (run: Run | undefined) => run?.turnId === turnId && run.sandboxId === sandboxId;
    if (is(this.#runs[0])) return true;
    const at = this.#runs.findIndex(is);
    if (at > 0) this.#runs.unshift(...this.#runs.splice(at, 1));
    return at >= 0;
  }

  /** The checkpoint that the last batch passed under, if the gate remembers its id. */
  get checkpointId(): string | undefined {
    return this.#runs[0]?.checkpointId;
  }

  /** The gate's next deadline is another. */
  set due(at: number) {
    this.#due = at;
  }

  /** The next batch of the turn that is expected: its verdict, if the gate need not be asked. */
  again(nowMs: number): Promise<Verdict> | undefined {
    const run = this.#runs[0];
    if (run === undefined || nowMs >= this.#due) return undefined;
    run.lastMs = nowMs;
    run.untold += 1;
    return run.verdict;
  }

  /** The next batch of any turn: its verdict, if the turn is covered. */
  ask(sandboxId: string, turnId: string, nowMs: number): Promise<Verdict> | undefined {
    this.#count();
    const answer = this.#gate.passCovered(sandboxId, turnId, nowMs);
    if (answer === undefined || answer === null) {
      this.#runs.length = 0;
      return undefined;
    }
    const verdict = coveredVerdict(answer);
    const { checkpointId } = verdict;
    if (this.expects(sandboxId, turnId)) this.#runs.shift();
    const run = { sandboxId, turnId, checkpointId, verdict: Promise.resolve(verdict), lastMs: nowMs, untold: 0 };
    this.#runs.unshift(run);
    if (this.#runs.length > MOST) this.#runs.pop();
    return run.verdict;
  }

  /** The gate is about to hear of something else: first it hears of the batches that passed. */
  tell(): void {
    this.#count();
    this.#runs.length = 0;
  }

  #count(): void {
    for (let at = this.#runs.length - 1; at >= 0; at -= 1) {
      const run = this.#runs[at];
      if (run === undefined) continue;
      const { sandboxId, turnId, lastMs } = run;
      for (let batch = Math.min(run.untold, COUNTED); batch > 0; batch -= 1) {
        this.#gate.passCovered(sandboxId, turnId, lastMs);
      }
      run.untold = 0;
    }
  }
}
