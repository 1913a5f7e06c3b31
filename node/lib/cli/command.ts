import type { CheckpointManager } from '../manager.js';
import type { ExitCode } from './exit.js';
import type { Output } from './output.js';

/** An option of a command. */
export interface Option {
  /** What its value is called in the help; an option without one is a switch. */
  value?: string;
  /** May be given more than once. */
  multiple?: boolean;
  /** One line for the help. */
  help: string;
}

/** What a command gets of its command line. */
export interface Given {
  /** The positional arguments, as many as {@link Command.args} allows. */
  args: string[];
  /** Whether a switch was given. */
  has: (name: string) => boolean;
  /** The value of an option. */
  value: (name: string) => string | undefined;
  /** What stands after `--`, for commands that run another program. */
  rest: string[];
  /** The values of an option that may be given more than once. */
  values: (name: string) => string[];
}

/** What a command works with. */
export interface Tools {
  /** The store that the command line names, opened on first use and closed afterwards. */
  store: () => Promise<CheckpointManager>;
  output: Output;
  /** Fires on the first interrupt. */
  signal: AbortSignal;
  /** What to answer when something was done in part: 3, or 0 with `--allow-partial`. */
  partial: ExitCode;
}

/** One command. */
export interface Command {
  name: string;
  /** One line for the list of commands. */
  summary: string;
  /** The positional arguments: `ID`, in brackets those that may be left out, `[DIR]`, and at the end one that may be repeated, `ID…`. */
  args: string[];
  options: Record<string, Option>;
  /** What has to stand after `--`, for commands that run another program. */
  rest?: string;
  /** Paragraphs for its own help. */
  about: string[];
  examples: string[];
  /** The exit code: one of {@link EXIT}, or that of the program that the command ran. */
  run: (given: Given, tools: Tools) => Promise<number>;
}
