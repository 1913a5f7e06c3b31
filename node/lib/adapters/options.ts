/** What all adapters are told, and its check. */
import { guard } from '../bash/guard.js';
import type { CommandGuard } from '../bash/types.js';
import { type Check, callback, options, type Spec } from '../check.js';
import { invalidArgument } from '../errors.js';
import { type Asked, freshTurn } from './call.js';
import { saidBy, sandboxId, sandboxSaid, turnSaid } from './said.js';

/** What every adapter takes. `Args` is what the wrapped function is called with. */
export interface GuardedOptions<Args extends readonly unknown[]> {
  /** Asked directly before each call. What `createGuard` gave. */
  guard: CommandGuard;
  /**
   * The sandbox that a call works in, or a function that says so for each call. If it throws, or gives what can be no id (a promise, say),
   * the call fails and does not run.
   */
  sandboxId: string | ((...args: Args) => string);
  /**
   * The turn of a call, where the caller knows it: it wins over what the adapter would find (G11). `undefined` leaves it to that,
   * other than text is a mistake: the call fails and does not run. Text that can be no id is taken by its SHA-256.
   */
  turnId?: ((...args: Args) => string | undefined) | undefined;
  /**
   * The shell command, or the commands, that a call is about to run, for tools that run one: a guard with `when: 'unless_read_only'`
   * makes no checkpoint for a call whose commands are all proven to only read (G14). It must be all that the call does. Without it,
   * and where it gives `undefined`, a call counts as destructive. If it throws, the call fails and does not run.
   */
  command?: ((...args: Args) => string | readonly string[] | undefined) | undefined;
}

/** What to ask before a call whose host knows no turns: without an id of the caller's it is a turn of its own (G11). */
export function askedOf<Args extends readonly unknown[]>(
  options: GuardedOptions<Args>,
  args: readonly unknown[],
  signal: AbortSignal | undefined,
): Asked {
  const { guard, command } = options;
  return {
    guard,
    sandboxId: sandboxSaid(options.sandboxId, args),
    turnId: turnSaid(options.turnId, args) ?? freshTurn(),
    command: command === undefined ? undefined : saidBy(command, args),
    signal,
  };
}

/** An id, or a function that gives one for each call. */
const idOrCallback: Check<unknown> = (name, value) => {
  if (typeof value === 'function') return value;
  if (typeof value === 'string') return sandboxId(name, value);
  throw invalidArgument(name, `${name} is neither a text nor a function: pass one of them`);
};

/** The options, every one of them checked when something is wrapped, and not only at the first call. */
export function checkedOptions<O extends object>(given: O, more: Spec = {}): O {
  const spec: Spec = { guard, sandboxId: idOrCallback, turnId: callback(), command: callback(), ...more };
  const checked = options('options', spec, given);
  for (const name of ['guard', 'sandboxId']) {
    if (checked[name] === undefined) throw invalidArgument(`options.${name}`, `options.${name} is missing`);
  }
  return checked as unknown as O;
}
