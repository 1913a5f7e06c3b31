import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { commandOf, type HookInput, onlyReads } from '../../../adapters/claude-call.js';
import { textIn, turnIn } from '../../../adapters/turn-id.js';
import { canonical } from '../../../bash/workplace.js';
import { deadline } from '../../../check.js';
import { isTurnbackError } from '../../../errors.js';
import { CHECKPOINT_TIMEOUT_MS } from '../../../policy.js';
import { isReadOnly } from '../../../read-only.js';
import type { Command } from '../../command.js';
import { EXIT } from '../../exit.js';
import { apart } from '../../hook/apart.js';
import { type Answer, beforeCall } from '../../hook/before-call.js';
import { standardInput } from '../../hook/stdin.js';
import { closed, type Opened } from '../../opening.js';
import { printableMessage } from '../../text.js';
import { milliseconds } from '../../units.js';

/** What the host takes for "do not run this call", and shows what stderr says to the model. */
const BLOCKED = 2;

export const claudeCode: Command = {
  name: 'hook claude-code',
  summary: 'for the hooks of Claude Code: a checkpoint before the first call of each prompt',
  args: ['[DIR]'],
  options: {
    'unless-read-only': { help: 'no checkpoint for commands of Bash that are proven to only read' },
    block: { help: 'keep a call from running that should have a checkpoint and has none (exit code 2)' },
    limit: { value: 'TIME', help: 'how long a call may be held up at most (default: 10s)' },
  },
  about: [
    'To be run by Claude Code before each tool call (PreToolUse); it reads what the host says of the call from standard input. The first call',
    "of each prompt that may change something gets a checkpoint of DIR (default: the project's directory, as the host says); parallel calls and",
    'those of subagents share it. Tools that change no file (Read, Grep, Glob, …) need none.',
    'It never keeps a call from running, whatever happens: without --block the exit code is 0, and 1 for a command line that cannot be right. Nothing',
    'is printed to stdout, save with --json; stderr says what went wrong. With --block a process of its own does the work, so that the answer comes in',
    'time also where a disk hangs.',
    'The prompts and their checkpoints: turnback turns. Back to before a prompt: turnback rollback --turn ID.',
  ],
  examples: ['turnback hook claude-code', 'turnback hook claude-code --unless-read-only --limit 30s'],
  async run({ args, value, has }, { store, output, signal: interrupted }) {
    const parent = process.ppid;
    const limit = value('limit');
    const limitMs = limit === undefined ? CHECKPOINT_TIMEOUT_MS : deadline('--limit', milliseconds('--limit', limit));
    const from = performance.now();
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(new Error('the time is over')), limitMs);
    const signal = AbortSignal.any([over.signal, interrupted]);
    const leftMs = () => Math.max(1, limitMs - (performance.now() - from));
    let opened: Opened | undefined;
    let answer: Answer & { turnId?: string };
    try {
      const text = await standardInput(signal);
      const input = parsed(text);
      const needless = whyNone(input, has('unless-read-only'));
      if (needless !== undefined) {
        answer = { outcome: 'skipped', protected: false, reason: needless };
      } else if (has('block')) {
        const options = ['store', 'store-cap'].filter(has).map((name) => `--${name}=${value(name)}`);
        const limited = [...options, `--limit=${Math.ceil(leftMs())}ms`, '--json', '--quiet', '--'];
        const line = [...claudeCode.name.split(' '), ...limited, ...args];
        answer = await apart({ input: text, line, leftMs, interrupted });
      } else {
        const directory = await canonical(
          Buffer.from(resolve(args[0] ?? projectOf(input, (line) => output.note(line)))),
        );
        const turnId = turnIn(input.prompt_id) ?? turnIn(input.tool_use_id) ?? randomUUID();
        const storeName = value('store') ?? process.env.TURNBACK_STORE ?? '';
        const isAwaited = () => process.ppid === parent;
        const call = {
          directory,
          turnId,
          storeName,
          store,
          logger: output.logger(),
          interrupted,
          signal,
          leftMs,
          isAwaited,
        };
        const made = await beforeCall(call, (found) => {
          opened = found;
        });
        answer = { ...made, turnId };
      }
    } catch (error) {
      // Whatever it is, it is said below, and the call goes on (G5).
      answer = { outcome: 'failed', protected: false, reason: error instanceof Error ? error.message : String(error) };
    } finally {
      clearTimeout(timer);
    }
    const required = !answer.protected && (answer.outcome === 'failed' || answer.outcome === 'timed_out');
    const code = required && has('block') ? BLOCKED : EXIT.done;
    if (required) {
      const then = code === BLOCKED ? 'the call is blocked' : 'the call runs';
      output.note(`no checkpoint: ${answer.outcome} (${printableMessage(answer.reason)}); ${then}`);
    }
    output.answer(
      answer,
      () => [],
      () => [],
    );
    if (opened !== undefined && !(await closed(opened))) process.exit(code);
    return code;
  },
};

/** Where the host works: in its project, or where it says that it is when that does not exist. */
function projectOf(input: HookInput, note: (line: string) => void): string {
  const project = textIn(process.env.CLAUDE_PROJECT_DIR);
  const cwd = textIn(input.cwd);
  if (project === undefined) return cwd ?? '.';
  if (cwd === undefined || existsSync(project) || !existsSync(cwd)) return project;
  note(
    `CLAUDE_PROJECT_DIR (${printableMessage(project)}) does not exist: the checkpoint is of the call's own directory`,
  );
  return cwd;
}

function parsed(text: string): HookInput {
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch (error) {
    throw new Error(`the input is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const { hook_event_name: event } = (input ?? {}) as { hook_event_name?: unknown };
  if (typeof event !== 'string') throw new Error('the input is none of a hook: it has no hook_event_name');
  return input as HookInput;
}

/** Why no checkpoint is needed; `undefined` when this is a call that may change something. */
function whyNone(input: HookInput, unlessReadOnly: boolean): 'no_tool_call' | 'read_only' | undefined {
  if (input.hook_event_name !== 'PreToolUse') return 'no_tool_call';
  if (onlyReads(input)) return 'read_only';
  const command = unlessReadOnly ? commandOf(input) : undefined;
  return command !== undefined && isProven(command) ? 'read_only' : undefined;
}

function isProven(command: string): boolean {
  try {
    return isReadOnly(command);
  } catch (error) {
    // Half a character, say: no shell has run that before.
    if (isTurnbackError(error) && error.code === 'INVALID_ARGUMENT') return false;
    throw error;
  }
}
