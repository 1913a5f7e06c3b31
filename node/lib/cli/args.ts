import { parseArgs } from 'node:util';
import type { Command, Given, Option } from './command.js';
import { UsageError } from './exit.js';
import { printable } from './text.js';

/** The options that every command takes. */
export const GLOBAL: Record<string, Option> = {
  store: {
    value: 'DIR',
    help: 'the store (default: $TURNBACK_STORE, $XDG_STATE_HOME/turnback, ~/.local/state/turnback)',
  },
  'store-cap': {
    value: 'SIZE',
    help: 'the most that the store may hold: 500M, 2G (default: 20G, or a fifth of its disk where that is less)',
  },
  json: { help: 'print one JSON document, for errors too' },
  quiet: { help: 'print only what a script needs: ids, paths' },
  'allow-partial': { help: 'exit with 0 where 3 would say that it was done in part' },
  help: { help: 'show this help' },
  version: { help: 'show the version' },
};

const shown = (text: string) => printable(text.length > 60 ? `${text.slice(0, 60)}…` : text);

/** How many single-character edits make `a` into `b`. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (const [i, left] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, right] of [...b].entries()) {
      next.push(Math.min((row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1, (row[j] ?? 0) + (left === right ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** The known name that was probably meant. */
export function closest(given: string, known: string[]): string | undefined {
  if (given.length > 40) return undefined;
  const near = known.map((name) => ({ name, far: distance(given, name) })).sort((a, b) => a.far - b.far)[0];
  return near !== undefined && near.far <= 2 && near.far < near.name.length ? near.name : undefined;
}

/** The command of a command line, and the rest of it. Options of every command may stand before the command. */
export function commandOf(line: string[]): { name: string | undefined; rest: string[] } {
  let at = 0;
  while (line[at]?.startsWith('-')) {
    const [name = '', value] = (line[at] ?? '').replace(/^--/, '').split('=', 2);
    const option = Object.hasOwn(GLOBAL, name) ? GLOBAL[name] : undefined;
    if (option === undefined) {
      const meant = closest(name, Object.keys(GLOBAL));
      const hint = 'options of one command come after it; see `turnback --help`';
      throw new UsageError(
        `unknown option ${shown(line[at] ?? '')}`,
        meant === undefined ? hint : `did you mean --${meant}? ${hint}`,
      );
    }
    at += option.value !== undefined && value === undefined ? 2 : 1;
  }
  return { name: line[at], rest: [...line.slice(0, at), ...line.slice(at + 1)] };
}

/**
 * A command line, read by the options of one command. Nothing is guessed: an unknown option, a missing or superfluous value
 * and a wrong number of arguments are refused.
 */
export function parse(command: Command, whole: string[]): Given {
  const end = command.rest === undefined ? -1 : whole.indexOf('--');
  const line = end === -1 ? whole : whole.slice(0, end);
  const rest = end === -1 ? [] : whole.slice(end + 1);
  const known: Record<string, Option> = { ...command.options, ...GLOBAL };
  const see = `see \`turnback ${command.name} --help\``;
  const { tokens, positionals } = parseArgs({
    args: line,
    options: Object.fromEntries(
      Object.entries(known).map(([name, { value }]) => [
        name,
        { type: value === undefined ? 'boolean' : 'string' } as const,
      ]),
    ),
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const given = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const option = Object.hasOwn(known, token.name) ? known[token.name] : undefined;
    if (option === undefined) {
      const meant = closest(token.name, Object.keys(known));
      const hint = meant === undefined ? see : `did you mean --${meant}? ${see}`;
      throw new UsageError(`unknown option ${shown(token.rawName)}`, hint);
    }
    const name = `--${token.name}`;
    if (option.value === undefined && token.value !== undefined) throw new UsageError(`${name} takes no value`, see);
    if (option.value !== undefined && token.value === undefined) {
      throw new UsageError(`${name} needs a value (${option.value})`, see);
    }
    const before = given.get(token.name);
    if (before !== undefined && option.value !== undefined && !option.multiple) {
      throw new UsageError(`${name} is given twice`, see);
    }
    given.set(token.name, [...(before ?? []), token.value ?? '']);
  }
  if (!given.has('help') && !given.has('version')) {
    countArgs(command, positionals, see);
    if (command.rest !== undefined && rest.length === 0) {
      throw new UsageError(`${command.name} needs ${command.rest} after --`, see);
    }
  }
  return {
    args: positionals,
    rest,
    has: (name) => given.has(name),
    value: (name) => given.get(name)?.[0],
    values: (name) => given.get(name) ?? [],
  };
}

function countArgs({ name, args }: Command, given: string[], see: string): void {
  const missing = args.slice(given.length).find((arg) => !arg.startsWith('['));
  if (missing !== undefined) throw new UsageError(`${name} needs ${missing}`, see);
  const superfluous = args.at(-1)?.endsWith('…') ? undefined : given[args.length];
  if (superfluous !== undefined) throw new UsageError(`${name} takes no further argument ${shown(superfluous)}`, see);
}
