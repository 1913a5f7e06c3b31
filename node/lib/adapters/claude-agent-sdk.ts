/**
 * The guard in the hooks of the Claude Agent SDK (`@anthropic-ai/claude-agent-sdk`). Nothing of the SDK is imported. For Claude Code
 * itself, whose hooks are commands, there is `turnback hook claude-code`.
 */
import { isTurnbackError } from '../errors.js';
import { freshTurn, signalIn } from './call.js';
import { commandOf, type HookInput, onlyReads } from './claude-call.js';
import { checkedOptions, type GuardedOptions } from './options.js';
import { sandboxSaid, turnSaid } from './said.js';
import { textIn, turnIn } from './turn-id.js';

export type { HookInput } from './claude-call.js';

/** What {@link guardHooks} takes. The functions get the hook's input. */
export type GuardHooksOptions = Omit<GuardedOptions<[input: HookInput]>, 'command'>;

/** What a hook answers: nothing, or that the tool must not run. */
export type HookOutput =
  | Record<string, never>
  | {
      hookSpecificOutput: {
        hookEventName: 'PreToolUse';
        permissionDecision: 'deny';
        permissionDecisionReason: string;
      };
    };

/** One hook, as the SDK calls it. */
export type Hook = (
  input: HookInput,
  toolUseId: string | undefined,
  options: { signal: AbortSignal },
) => Promise<HookOutput>;

/** Hooks for the `hooks` of the SDK's options. */
export interface GuardHooks {
  PreToolUse: { hooks: Hook[] }[];
  UserPromptSubmit: { hooks: Hook[] }[];
}

/**
 * Hooks that ask the guard directly before each tool call: `query({ prompt, options: { hooks: guardHooks({ guard, sandboxId }) } })`. If you
 * have other hooks, put the entries of both into the same lists.
 *
 * All calls of one prompt are one turn, those of its subagents among them. The turn is, in this order: what `turnId(input)` gives; the
 * input's `prompt_id`; with a version that sends none, the session since its last `UserPromptSubmit`; otherwise each call is a turn (G11).
 * Tools of Claude Code that change no file (`Read`, `Grep`, `Glob`, …) are not asked for. A guard with `when: 'unless_read_only'`
 * gets the command of `Bash`.
 *
 * A hook never rejects, and says nothing: it fails open. Only with `onFailure: 'block'` a missing checkpoint denies the call, and so does an
 * option's function that throws or gives no text. The SDK asks hooks before it asks for permission, so that a call which is then denied has its
 * checkpoint all the same.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` for options that can never be right
 */
export function guardHooks(options: GuardHooksOptions): GuardHooks {
  const { guard, sandboxId, turnId } = checkedOptions(options);
  const sessions = new Sessions();
  const before: Hook = async (input, _, call) => {
    // What is no input is no call: a hook never rejects.
    if (input?.hook_event_name !== 'PreToolUse' || onlyReads(input)) return {};
    try {
      const command = commandOf(input);
      await guard.beforeBatch({
        sandboxId: sandboxSaid(sandboxId, [input]),
        turnId: turnSaid(turnId, [input]) ?? sessions.turnOf(input),
        ...(command === undefined ? {} : { command }),
        signal: signalIn(call, 'signal'),
      });
      return {};
    } catch (error) {
      return denied(error);
    }
  };
  const prompted: Hook = async (input) => {
    if (input) sessions.prompted(input);
    return {};
  };
  return { PreToolUse: [{ hooks: [before] }], UserPromptSubmit: [{ hooks: [prompted] }] };
}

function denied(error: unknown): HookOutput {
  const message = error instanceof Error ? error.message : String(error);
  const reason = isTurnbackError(error)
    ? message
    : `the checkpoint before this call could not be asked for: ${message}`;
  return {
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: 'deny',
      permissionDecisionReason: reason,
    },
  };
}

/** How many sessions are remembered whose prompts have no ids: the last ones. */
const MOST_SESSIONS = 1000;

/** The turns of sessions whose prompts have no ids. */
class Sessions {
  readonly #turns = new Map<string, string>();

  /** A user's prompt begins another turn. */
  prompted({ session_id, prompt_id }: HookInput): void {
    const session = textIn(session_id);
    if (session === undefined) return;
    this.#turns.delete(session);
    if (textIn(prompt_id) !== undefined) return;
    this.#turns.set(session, freshTurn());
    if (this.#turns.size <= MOST_SESSIONS) return;
    for (const oldest of this.#turns.keys()) {
      this.#turns.delete(oldest);
      return;
    }
  }

  turnOf({ session_id, prompt_id }: HookInput): string {
    return turnIn(prompt_id) ?? this.#turns.get(textIn(session_id) ?? '') ?? freshTurn();
  }
}
