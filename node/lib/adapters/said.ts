/** What a caller's functions say of a call: checked, because a guard that is asked with what can never be right makes no checkpoint (G5). */
import { anyText, MOST_ID_BYTES, shortText, signal } from '../check.js';
import { invalidArgument } from '../errors.js';
import { turnIn } from './turn-id.js';

/** A function that says something of each call. */
type Saying<Args extends readonly unknown[], Said> = (...args: Args) => Said;

/** What can be the id of a sandbox. */
export const sandboxId = shortText(MOST_ID_BYTES);

/** The value, or what the function says of this call. */
export function saidBy<Args extends readonly unknown[], Said>(
  given: Said | Saying<Args, Said>,
  args: readonly unknown[],
): Said {
  if (typeof given !== 'function') return given;
  const said = Reflect.apply(given, undefined, args) as Said;
  // No function here may be `async`, and that is what is told; left alone, its own failure would end the process.
  if (said instanceof Promise) said.catch(() => {});
  return said;
}

/**
 * The sandbox of a call.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` when the function gives what can be none
 */
export function sandboxSaid<Args extends readonly unknown[]>(
  given: string | Saying<Args, string>,
  args: readonly unknown[],
): string {
  return typeof given === 'function' ? sandboxId('options.sandboxId(…)', saidBy(given, args)) : given;
}

/**
 * The turn of a call, if the function says one. A text that can be no id stands for one all the same.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` when the function gives no text, or an empty one
 */
export function turnSaid<Args extends readonly unknown[]>(
  given: Saying<Args, string | undefined> | undefined,
  args: readonly unknown[],
): string | undefined {
  const said = given === undefined ? undefined : saidBy<Args, unknown>(given, args);
  if (said === undefined) return undefined;
  const name = 'options.turnId(…)';
  const turnId = turnIn(anyText(name, said));
  if (turnId === undefined)
    throw invalidArgument(name, `${name} is empty: pass an id, or undefined where there is none`);
  return turnId;
}

/**
 * The signal of a call, if the function gives one.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` when the function gives something else
 */
export function signalSaid<Args extends readonly unknown[]>(
  given: Saying<Args, AbortSignal | undefined> | undefined,
  args: readonly unknown[],
): AbortSignal | undefined {
  const said = given === undefined ? undefined : saidBy<Args, unknown>(given, args);
  return said === undefined || said === null ? undefined : signal('options.signal(…)', said);
}
