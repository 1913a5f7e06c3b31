import type { Batch } from './batch.js';
import { isInvalidArgument, required } from './error.js';
import { warnOnce } from './flag.js';
import { ShellGuard } from './guard.js';
import type { Host } from './host.js';
import { type CheckedOptions, checkedOptions, type GuardOptions } from './options.js';
import { textOf } from './settle.js';
import { unprotected, type Verdict } from './verdict.js';

interface Kept {
  driver: unknown;
  guard: ShellGuard;
}

const NO_DEPS = Object.freeze({});

/** Where there is no gate at all: in nobody's way, as when one breaks. */
function guardFailed(host: Host, { block }: CheckedOptions, cause: unknown): Verdict {
  const verdict = unprotected('failed', 'guard_failed');
  if (block) throw required(host, verdict, cause);
  warnOnce(`no checkpoint was made before a batch: the guard cannot start (${textOf(cause)})`);
  return verdict;
}

/** Guards that go with the objects that hold their options (G7). */
export class MaybeGuards {
  readonly #host: Host;
  readonly #kept = new WeakMap<object, Kept>();

  constructor(host: Host) {
    this.#host = host;
  }

  /** `beforeBatch` of the guard that belongs to `deps`. Rejects with `INVALID_ARGUMENT` for options that cannot be right. */
  async before(deps: GuardOptions | null | undefined, batch: Batch): Promise<Verdict> {
    const given = deps ?? NO_DEPS;
    // Read anew for each batch: what was changed in them counts from now on.
    const options = checkedOptions(this.#host, given, true);
    let guard: ShellGuard;
    try {
      guard = this.#guardOf(given, options);
    } catch (error) {
      if (isInvalidArgument(error)) throw error;
      return guardFailed(this.#host, options, error);
    }
    return await guard.beforeBatch(batch);
  }

  #guardOf(deps: object, options: CheckedOptions): ShellGuard {
    const kept = this.#kept.get(deps);
    const { driver } = options;
    // Another driver makes other checkpoints: what is remembered of the first says nothing about them.
    if (kept !== undefined && kept.driver === driver) {
      kept.guard.configure(options);
      return kept.guard;
    }
    const guard = new ShellGuard(this.#host, options);
    this.#kept.set(deps, { driver, guard });
    return guard;
  }
}
