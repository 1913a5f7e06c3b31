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

const after = (rest: string | undefined) => (rest === undefined ? [] : ['--', rest]);

/** The help of the program. */
export function overview(): string {
  const usage = ({ name, args, rest }: Command) => [name, ...args, ...after(rest)].join(' ');
  const width = Math.max(...COMMANDS.map((command) => usage(command).length));
  return [
    "turnback: checkpoints and exact rollback of an agent's workspace",
    '',
    'Usage: turnback COMMAND [OPTIONS]',
    '',
    ...COMMANDS.map((command) => `  ${usage(command).padEnd(width)}  ${command.summary}`),
    '',
    'Options of every command:',
    ...optionLines(GLOBAL),
    '',
    'Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done in part.',
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
