/** The guard in the tools of the OpenAI Agents SDK (`@openai/agents`; tested with 0.20). Nothing of the SDK is imported. */
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

/** What is needed of a tool that `shellTool` made for this machine. */
export interface LocalShellTool {
  readonly shell?: { run(action: never): Promise<unknown> } | undefined;
  readonly needsApproval: (run: never, action: never, callId?: string) => unknown;
}

/** What the model asks a shell for. */
export interface ShellAction {
  readonly commands: readonly string[];
}

/**
 * A tool of the SDK's `shellTool({ shell })`, with the guard asked directly before each action is run. The turns are those of
 * {@link guardExecute}. The SDK tells a shell no run, but asks `needsApproval` about the same action first, with the run: it is known from
 * there. An action of a run that was written down (`state.toString()`) while it waited for its approval is a turn of its own.
 *
 * Without `command` the action's own commands are what is to be proven to only read.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` for options that can never be right, and for a tool without a shell
 */
export function guardShellTool<Tool extends LocalShellTool>(
  tool: Tool,
  options: GuardedOptions<[action: ShellAction]>,
): Tool {
  const { shell } = tool ?? {};
  if (typeof shell?.run !== 'function' || typeof tool.needsApproval !== 'function') {
    throw invalidArgument('tool', 'tool has no shell to run: pass what shellTool({ shell }) gave');
  }
  const { turnId, command = (action: ShellAction) => action.commands, ...checked } = checkedOptions(options);
  const runs = new WeakMap<object, unknown>();
  const needsApproval = (run: never, action: never, callId?: string) => {
    runs.set(action, run);
    return tool.needsApproval(run, action, callId);
  };
  const turn = (action: ShellAction) => turnSaid(turnId, [action]) ?? turnOfContext(runs.get(action));
  const ask = (_: unknown, args: unknown[]) =>
    askedOf({ ...checked, command, turnId: turn }, args as [ShellAction], undefined);
  return { ...tool, needsApproval, shell: { run: guarded((action: never) => shell.run(action), ask) } };
}

/** What is needed of a tool that `applyPatchTool` made. */
export interface ApplyPatchTool {
  readonly editor: Record<
    'createFile' | 'updateFile' | 'deleteFile',
    (operation: never, context?: never) => Promise<unknown>
  >;
}

/** What an editor does. */
const EDITS = ['createFile', 'updateFile', 'deleteFile'] as const;

/**
 * A tool of the SDK's `applyPatchTool({ editor })`, with the guard asked directly before each operation. The turns are those of
 * {@link guardExecute}; the SDK tells an editor its run.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` for options that can never be right, and for a tool without an editor
 */
export function guardApplyPatchTool<Tool extends ApplyPatchTool>(
  tool: Tool,
  options: GuardedOptions<[operation: { readonly type: string; readonly path: string }]>,
): Tool {
  const { editor } = tool ?? {};
  if (!EDITS.every((edit) => typeof editor?.[edit] === 'function')) {
    throw invalidArgument('tool', 'tool has no editor: pass what applyPatchTool({ editor }) gave');
  }
  const { turnId, ...checked } = checkedOptions(options);
  const turn = (...[operation, context]: unknown[]) =>
    turnSaid(turnId, [operation as never]) ??
    turnOfContext((context as { runContext?: unknown } | undefined)?.runContext);
  const ask = (_: unknown, args: unknown[]) => askedOf({ ...checked, turnId: turn } as never, args, undefined);
  const edits = EDITS.map((edit) => [
    edit,
    guarded((operation: never, context: never) => editor[edit](operation, context), ask),
  ]);
  return { ...tool, editor: Object.fromEntries(edits) };
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
