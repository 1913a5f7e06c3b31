/** What Claude Code says of a tool call that is about to run: the same to a hook of the Agent SDK and to one that is a command. */

/** A hook's input. Structural: other fields are not used, and any of these may be missing in some version or event. */
export interface HookInput {
  readonly hook_event_name: string;
  readonly session_id?: string | undefined;
  /** The user's prompt that this belongs to, until the next one; older versions have none. */
  readonly prompt_id?: string | undefined;
  readonly cwd?: string | undefined;
  readonly tool_name?: string | undefined;
  readonly tool_input?: unknown;
  readonly tool_use_id?: string | undefined;
}

/** Tools of Claude Code itself that change no file, whatever their input. Those of servers are called `mcp__…`, so that none is meant by mistake. */
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

/** Whether the call is of a tool that changes no file. */
export function onlyReads({ tool_name: name }: HookInput): boolean {
  return typeof name === 'string' && READERS.has(name);
}

/** The shell command of a call of `Bash`. */
export function commandOf({ tool_name: name, tool_input: input }: HookInput): string | undefined {
  if (name !== 'Bash' || typeof input !== 'object' || input === null) return undefined;
  const { command } = input as { command?: unknown };
  return typeof command === 'string' ? command : undefined;
}
