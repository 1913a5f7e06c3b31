import type { Batch } from './batch.js';
import { idsOf } from './batch.js';
import { required } from './error.js';
import { warnOnce } from './flag.js';
import { ShellGuard } from './guard.js';
import type { Host } from './host.js';
import { Once, SafeLog } from './log.js';
import { type CheckedOptions, checkedOptions, type GuardOptions, isLogger } from './options.js';
import { textOf } from './settle.js';
import { unprotected, type Verdict } from './verdict.js';

const NO_DEPS = Object.freeze({});

/** Guards that go with the objects that hold their options (G7). */
export class MaybeGuards {
  readonly #host: Host;
  readonly #kept = new WeakMap<object, ShellGuard>();
  /** What was said of deps, in the logger that they have. */
  readonly #warned = new WeakMap<object, Once>();

  constructor(host: Host) {
    this.#host = host;
  }

  /**
   * `beforeBatch` of the guard that belongs to `deps`. In nobody's way, whatever `deps` are: with options that cannot be right, or
   * where no guard can start, the batch runs and the verdict says so; save with `onFailure: 'block'`.
   */
  async before(deps: GuardOptions | null | undefined, batch: Batch): Promise<Verdict> {
    const given = deps ?? NO_DEPS;
    let guard: ShellGuard;
    try {
      // Read anew for each batch: what was changed in them counts from now on.
      guard = this.#guardOf(given, checkedOptions(this.#host, given, true));
    } catch (error) {
      return this.#failed(given, batch, error);
    }
    // A driver may come later. Not for a batch without a turn, of which there is nothing to remember.
    if (given !== NO_DEPS && this.#hasTurn(batch)) guard.remember();
    return await guard.beforeBatch(batch);
  }

  #guardOf(deps: object, options: CheckedOptions): ShellGuard {
    const kept = this.#kept.get(deps);
    if (kept?.accepts(options)) {
      kept.configure(options);
      return kept;
    }
    const guard = new ShellGuard(this.#host, options);
    this.#kept.set(deps, guard);
    return guard;
  }

  /** The batch runs all the same: when the options are mended, a checkpoint of its turn is a late one. */
  #failed(deps: unknown, batch: Batch, cause: unknown): Verdict {
    const verdict = unprotected('failed', 'guard_failed');
    if (read(deps, 'onFailure') === 'block') throw required(this.#host, verdict, cause);
    this.#warn(deps, cause);
    if (typeof deps === 'object' && deps !== null && this.#hasTurn(batch)) this.#remember(deps, batch);
    return verdict;
  }

  #remember(deps: object, batch: Batch): void {
    let guard = this.#kept.get(deps);
    if (guard === undefined) {
      guard = new ShellGuard(this.#host, checkedOptions(this.#host, NO_DEPS, true));
      this.#kept.set(deps, guard);
    }
    guard.remember();
    guard.ran(batch);
  }

  /** Once for each thing that is wrong with these deps. */
  #warn(deps: unknown, cause: unknown): void {
    const message = `no checkpoint was made before a batch: the guard cannot start (${textOf(read(cause, 'message') ?? cause)})`;
    const logger = read(deps, 'logger');
    if (typeof deps !== 'object' || deps === null || !isLogger(logger)) {
      warnOnce(message);
      return;
    }
    const warned = this.#warned.get(deps) ?? new Once();
    this.#warned.set(deps, warned);
    const what = read(read(cause, 'details'), 'argument');
    if (warned.first(typeof what === 'string' ? what : message)) {
      new SafeLog(logger).say('warn', { err: cause }, message);
    }
  }

  #hasTurn(batch: unknown): boolean {
    try {
      return typeof batch === 'object' && batch !== null && typeof idsOf(this.#host, batch).turnId === 'string';
    } catch {
      return false;
    }
  }
}

/** A property of what may be anything. */
function read(value: unknown, name: string): unknown {
  try {
    return (value as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}
