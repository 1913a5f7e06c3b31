/**
 * Sessions of Claude Code: JSON Lines that it keeps beneath `~/.claude/projects/`, one file a session and one for each of its subagents. The
 * format is written down nowhere, so nothing is relied upon but what a tool call needs.
 */
import { aString } from '../../check.js';
import {
  type Call,
  type Fields,
  fieldsOf,
  Import,
  type Imported,
  jsonOf,
  linesOf,
  listOf,
  textOf,
} from './imported.js';

/** What {@link importClaudeCode} may be told. */
export interface ClaudeCodeOptions {
  /**
   * Whether a command of `Bash` is proven to only read: the `isReadOnly` of `turnback`, or of `turnback-policy/read-only`. Without it every
   * command counts as destructive. If it throws, the command does too.
   */
  isReadOnly?: ((command: string) => boolean) | undefined;
}

/** Tools that change no file: those before which the guard's hooks ask for no checkpoint. */
const READERS: ReadonlySet<string> = new Set([
  'AskUserQuestion',
  'EnterPlanMode',
  'ExitPlanMode',
  'Glob',
  'Grep',
  'LS',
  'NotebookRead',
  'Read',
  'TodoRead',
  'TodoWrite',
  'ToolSearch',
  'WebFetch',
  'WebSearch',
]);

/**
 * The tool calls of one or more sessions of Claude Code, each with its result: the text of a session's file, or of several one after the
 * other.
 *
 * A call's *turn* is the user's prompt that it belongs to, also for calls of subagents; its *sandbox* is the directory in which the session
 * was begun, or a directory outside of it that it went to. A call begins when the model asked for it and ends with its result, so that a question for
 * permission counts as running time. Calls without a result last until the last moment of their session, and are counted.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` when there is no tool call in it at all
 */
export function importClaudeCode(text: string, options: ClaudeCodeOptions = {}): Imported {
  const found = new Import();
  const sessions = new Sessions();
  /** By the id of the call, which is in its result too. A session that was resumed holds the calls of the one before again. */
  const calls = new Map<string, Call>();
  for (const { number, text: line } of linesOf(aString('text', text))) {
    const record = fieldsOf(jsonOf(line)?.value);
    if (record === undefined) {
      found.skip(number, 'it is no JSON object');
      continue;
    }
    const blocks = listOf(fieldsOf(record.message)?.content);
    const place = sessions.place(record, blocks);
    for (const block of blocks) {
      if (block.type === 'tool_use') {
        const [id, tool] = [textOf(block.id), textOf(block.name)];
        if (id === undefined || tool === undefined) found.skip(number, 'a tool call has no id or no name');
        else if (place.atMs === undefined) found.skip(number, 'a tool call has no timestamp');
        else if (!calls.has(id)) {
          const call = {
            ...place,
            startMs: place.atMs,
            endMs: undefined,
            tool,
            readOnly: onlyReads(tool, block.input, options),
          };
          calls.set(id, call);
          found.call(call);
        }
      } else if (block.type === 'tool_result') {
        const call = calls.get(textOf(block.tool_use_id) ?? '');
        if (call !== undefined) call.endMs ??= place.atMs;
      }
    }
  }
  return found.result('from Claude Code', 'the JSON Lines of a session of Claude Code, from ~/.claude/projects');
}

function onlyReads(tool: string, input: unknown, { isReadOnly }: ClaudeCodeOptions): boolean {
  if (READERS.has(tool)) return true;
  const command = fieldsOf(input)?.command;
  if (tool !== 'Bash' || isReadOnly === undefined || typeof command !== 'string') return false;
  try {
    return isReadOnly(command) === true;
  } catch {
    // What nothing can be proven of counts as destructive.
    return false;
  }
}

/** Where and when a record belongs. */
interface Place {
  sandbox: string;
  turn: string | null;
  atMs: number | undefined;
  sessionEndMs: () => number;
}

interface Session {
  /** Directories that do not lie in one another. */
  directories: string[];
  /** The last prompt of the user. */
  prompt: string | null;
  lastMs: number;
}

/** What is known of the sessions of a log, as of the record that was read last. */
class Sessions {
  readonly #sessions = new Map<string, Session>();
  /** The turn of each record, by the id that others name as their parent. */
  readonly #turns = new Map<string, string | null>();

  place(record: Fields, blocks: Fields[]): Place {
    const id = textOf(record.sessionId) ?? '';
    const session = this.#sessions.get(id) ?? { directories: [], prompt: null, lastMs: Number.NEGATIVE_INFINITY };
    this.#sessions.set(id, session);
    const atMs = momentOf(record.timestamp);
    if (atMs !== undefined) session.lastMs = Math.max(session.lastMs, atMs);
    return {
      sandbox: directoryOf(session, record.cwd) ?? (id === '' ? 'a session' : id),
      turn: this.#turnOf(record, blocks, session),
      atMs,
      sessionEndMs: () => session.lastMs,
    };
  }

  #turnOf(record: Fields, blocks: Fields[], session: Session): string | null {
    const turn = textOf(record.promptId) ?? this.#unnamedTurn(record, blocks, session);
    const uuid = textOf(record.uuid);
    if (uuid !== undefined) this.#turns.set(uuid, turn);
    // Subagents get prompts too, and not from the user.
    if (record.isSidechain !== true && record.type === 'user') session.prompt = turn;
    return turn;
  }

  /** Older versions give prompts no id: then it is that of the user's record, and what follows from it is its turn. */
  #unnamedTurn(record: Fields, blocks: Fields[], session: Session): string | null {
    if (isPrompt(record, blocks)) return textOf(record.uuid) ?? null;
    for (const parent of [record.parentUuid, record.logicalParentUuid]) {
      const turn = this.#turns.get(textOf(parent) ?? '');
      if (turn !== undefined && turn !== null) return turn;
    }
    return session.prompt;
  }
}

/** Whether a record is what the user said, and neither a result nor what the program put in. */
function isPrompt(
  { type, isMeta, isSidechain, isCompactSummary, message, toolUseResult }: Fields,
  blocks: Fields[],
): boolean {
  if (type !== 'user' || isMeta === true || isSidechain === true || isCompactSummary === true) return false;
  if (toolUseResult !== undefined || fieldsOf(message) === undefined) return false;
  return blocks.every((block) => block.type !== 'tool_result');
}

/** The session's directory that this one lies in. A command may have gone to a subdirectory: that is no other sandbox. */
function directoryOf({ directories }: Session, cwd: unknown): string | undefined {
  const here = textOf(cwd);
  if (here === undefined) return directories[0];
  const known = directories.find(
    (directory) => here === directory || (/^[/\\]/.test(here.slice(directory.length)) && here.startsWith(directory)),
  );
  if (known === undefined) directories.push(here);
  return known ?? here;
}

function momentOf(timestamp: unknown): number | undefined {
  const ms = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
