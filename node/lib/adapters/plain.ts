/** The guard for those who run their tools themselves. */

import { callback } from '../check.js';
import { invalidArgument } from '../errors.js';
import { guarded } from './call.js';
import { askedOf, checkedOptions, type GuardedOptions } from './options.js';
import { signalSaid } from './said.js';

/** What {@link guardFunction} takes. */
export interface GuardFunctionOptions<Args extends readonly unknown[]> extends GuardedOptions<Args> {
  /** The signal that cancels a call, if it has one: when it fires before the call began, the call rejects with its reason. */
  signal?: ((...args: Args) => AbortSignal | undefined) | undefined;
}

/** A function with the guard before it: an async generator stays one, any other returns a promise. */
export type Guarded<Args extends readonly unknown[], Result> = (
  ...args: Args
) => Result extends AsyncGenerator ? Result : Promise<Awaited<Result>>;

/**
 * `work` with the guard asked directly before each call, for a tool-runner of one's own. Call it after every check that could
 * refuse the call (G13). `this` and the arguments go on to `work`.
 *
 * `turnId` says which turn a call belongs to, for example `(call) => turnIdOf(call.run)`; without it each call is a turn, so that
 * nothing is covered by an old checkpoint (G11). With `onFailure: 'block'` a missing checkpoint rejects and `work` does not run.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` for options that can never be right
 */
export function guardFunction<Args extends unknown[], Result>(
  work: (...args: Args) => Result,
  options: GuardFunctionOptions<Args>,
): Guarded<Args, Result> {
  if (typeof work !== 'function') throw invalidArgument('work', 'work is no function: pass what runs a tool');
  const checked = checkedOptions(options, { signal: callback() });
  const ask = (_: unknown, args: unknown[]) => askedOf(checked, args, signalSaid(checked.signal, args));
  return guarded(work as never, ask) as Guarded<Args, Result>;
}
