/** The guard in the tools of the OpenAI Agents SDK (`@openai/agents`). Nothing of the SDK is imported. */
import { invalidArgument } from '../errors.js';
import { freshTurn, guarded, signalIn } from './call.js';
import { askedOf, checkedOptions, type GuardedOptions } from './options.js';
import { turnSaid } from './said.js';
import { turnIn } from './turn-id.js';

/**
 * A tool's `execute`, for `tool({ …, execute })`, with the guard asked directly before it: after its arguments were parsed and the
 * call approved, so that a call that is denied costs no checkpoint (G13). The signal of the call cancels it; what the guard refuses
 * with is the tool's error.
 *
 * The turn is, in this order: what `turnId` gives; the text `turnId` in the caller's own context; the run, which is known by its
 * `RunContext`: the SDK makes one for each `run()`, and goes on with it when an interrupted run is resumed. Whoever passes one
 * `RunContext` to several runs has to say the turn. Without any each call is a turn (G11).
 *
 * @throws TurnbackError `INVALID_ARGUMENT` for options that can never be right
 */
export function guardExecute<Args extends unknown[], Result>(
  execute: (...args: Args) => Result,
  options: GuardedOptions<Args>,
): (...args: Args) => Promise<Awaited<Result>> {
  if (typeof execute !== 'function') {
    throw invalidArgument('execute', "execute is no function: pass what is the tool's execute");
  }
  const { turnId, ...checked } = checkedOptions(options);
  const turn = (...args: unknown[]) => turnSaid(turnId, args) ?? turnOfContext(args[1]);
  const ask = (_: unknown, args: unknown[]) => askedOf({ ...checked, turnId: turn }, args, signalIn(args[2], 'signal'));
  return guarded(execute as never, ask) as (...args: Args) => Promise<Awaited<Result>>;
}

/** Beside the objects, not on them: somebody may look through them. */
const turns = new WeakMap<object, string>();

function turnOfContext(run: unknown): string | undefined {
  if (typeof run !== 'object' || run === null) return undefined;
  const { context } = run as { context?: unknown };
  const said =
    typeof context === 'object' && context !== null && 'turnId' in context ? turnIn(context.turnId) : undefined;
  if (said !== undefined) return said;
  const turn = turns.get(run) ?? freshTurn();
  turns.set(run, turn);
  return turn;
}
