import { GLOBAL } from './args.js';
import type { Command, Option } from './command.js';
import { COMMANDS } from './commands/index.js';

function optionLines(options: Record<string, Option>): string[] {
  const rows = Object.entries(options).map(([name, { value, help }]) => ({
    left: `--${name}${value === undefined ? '' : ` ${value}`}`,
    help,
  }));
  const width = Math.max(...rows.map(({ left }) => left.length));
  return rows.map(({ left, help }) => `  ${left.padEnd(width)}  ${help}`);
}

/** One command, for programs. */
function described(command: Command): object {
  const { name, summary, args, rest, options, about, examples } = command;
  const more = rest === undefined ? {} : { rest };
  return { name, summary, usage: usageOf(command), args, ...more, options: optionList(options), about, examples };
}

function optionList(options: Record<string, Option>): object[] {
  return Object.entries(options).map(([name, { value, multiple, help }]) => ({
    name: `--${name}`,
    ...(value === undefined ? {} : { value }),
    ...(multiple ? { multiple } : {}),
    help,
  }));
}

/** What `--help --json` prints: of one command, or of all. */
export function helpDocument(command?: Command): object {
  const options = optionList(GLOBAL);
  return command === undefined
    ? { commands: COMMANDS.map(described), options, exitCodes: EXIT_CODES }
    : { command: described(command), options, exitCodes: EXIT_CODES };
}

const EXIT_CODES = {
  0: 'done',
  1: 'failed',
  2: 'wrong usage',
  3: 'done in part',
  4: 'conflicts, and nothing was done',
};

const after = (rest: string | undefined) => (rest === undefined ? [] : ['--', rest]);

const usageOf = ({ name, args, rest }: Command) => [name, ...args, ...after(rest)].join(' ');

/** Commands of two words belong to their first one. */
const ofGroup = (group: string) => COMMANDS.filter(({ name }) => name.startsWith(`${group} `));

/** Whether a word is the first one of commands. */
export const isGroup = (word: string) => ofGroup(word).length > 0;

function commandLines(commands: Command[]): string[] {
  const width = Math.max(...commands.map((command) => usageOf(command).length));
  return commands.map((command) => `  ${usageOf(command).padEnd(width)}  ${command.summary}`);
}

/** The help of a group of commands. */
export function groupHelp(group: string): string {
  return [
    `Usage: turnback ${group} COMMAND [OPTIONS]`,
    '',
    ...commandLines(ofGroup(group)),
    '',
    `More on one command: turnback ${group} COMMAND --help`,
  ].join('\n');
}

/** What `--help --json` prints of a group of commands. */
export function groupDocument(group: string): object {
  return { commands: ofGroup(group).map(described), options: optionList(GLOBAL), exitCodes: EXIT_CODES };
}

/** The help of the program. */
export function overview(): string {
  return [
    "turnback: checkpoints and exact rollback of an agent's workspace",
    '',
    'Usage: turnback COMMAND [OPTIONS]',
    '',
    ...commandLines(COMMANDS),
    '',
    'Options of every command:',
    ...optionLines(GLOBAL),
    '',
    `Exit codes: ${Object.entries(EXIT_CODES)
      .map(([code, meaning]) => `${code} ${meaning}`)
      .join('; ')}.`,
    'Errors: one line on stderr; with --json {"error":{"code","message","retryable","details"}} on stdout.',
    'More on one command: turnback COMMAND --help',
  ].join('\n');
}

/** The help of one command. */
export function helpOf(command: Command): string {
  const options = Object.keys(command.options).length === 0 ? [] : ['', 'Options:', ...optionLines(command.options)];
  return [
    `turnback ${command.name}: ${command.summary}`,
    '',
    `Usage: turnback ${[command.name, '[OPTIONS]', ...command.args, ...after(command.rest)].join(' ')}`,
    '',
    ...command.about,
    ...options,
    '',
    'Options of every command:',
    ...optionLines(GLOBAL),
    '',
    'Examples:',
    ...command.examples.map((example) => `  ${example}`),
  ].join('\n');
}
