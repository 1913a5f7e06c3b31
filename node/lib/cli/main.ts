import { packageVersion } from '../addon.js';
import { within } from '../bash/waits.js';
import { type ErrorCode, isTurnbackError } from '../errors.js';
import { CheckpointManager } from '../manager.js';
import { closest, commandOf, parse } from './args.js';
import type { Command } from './command.js';
import { COMMANDS } from './commands/index.js';
import { CLOSE_MS } from './ending.js';
import { EXIT, type ExitCode, UsageError } from './exit.js';
import { groupDocument, groupHelp, helpDocument, helpOf, isGroup, overview } from './help.js';
import { errorDocument, json } from './json.js';
import { Output } from './output.js';
import { sentence } from './sentence.js';
import { printable, printableMessage } from './text.js';
import { bytes } from './units.js';

/**
 * Runs a command line.
 *
 * @returns the exit code
 */
export async function main(line: string[]): Promise<number> {
  surviveOutput(groupOf(line));
  try {
    return await dispatch(line);
  } catch (error) {
    return forHost(groupOf(line), fail(error, wantsJson(line)));
  }
}

/** The first word of the command, also where the options before it cannot be right. */
function groupOf(line: string[]): string | undefined {
  try {
    return commandOf(line).name;
  } catch {
    // What is wrong with them has been said.
    return line.find((word) => word === 'hook');
  }
}

/** To a host of hooks the code for wrong usage means that its own work must not go on: there a wrong command line is only a failure. */
function forHost(name: string | undefined, code: number): number {
  return isHook(name) && code === EXIT.usage ? EXIT.failed : code;
}

const isHook = (name: string | undefined) => name?.split(' ')[0] === 'hook';

/**
 * Whoever reads the output may stop reading (`| head`): that is no error, and the exit code is still the command's own. What cannot be
 * written otherwise cannot be relied on, whatever the command itself came to: it ends there. Not so where the exit code answers a host of
 * hooks or is that of a guarded program: what is written is only beside it, and an end would let a call run that is to be kept from it, or keep
 * one from running (G5).
 */
function surviveOutput(name: string | undefined): void {
  const goesOn = isHook(name) || name === 'run-guarded';
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return;
      if (stream === process.stdout) {
        process.stderr.write(`turnback: IO: the output cannot be written: ${error.code ?? error.message}\n`);
      }
      if (!goesOn) process.exit(EXIT.failed);
    });
  }
}

/** Whether errors are to be printed as JSON, asked before the command line is known to be right. */
function wantsJson(line: string[]): boolean {
  const end = line.indexOf('--');
  return (end === -1 ? line : line.slice(0, end)).includes('--json');
}

async function dispatch(line: string[]): Promise<number> {
  const { name, rest } = wordsOf(line);
  const asJson = wantsJson(line);
  const version = () => print(asJson ? json({ version: packageVersion() }) : packageVersion());
  const help = (command?: Command) =>
    print(asJson ? json(helpDocument(command)) : command === undefined ? overview() : helpOf(command));
  const group = (of: string) => print(asJson ? json(groupDocument(of)) : groupHelp(of));
  if (name === undefined) {
    if (rest.includes('--version')) return version();
    if (rest.includes('--help')) return help();
    if (asJson) throw new UsageError('a command is missing', 'see `turnback --help`');
    process.stderr.write(`${overview()}\n`);
    return EXIT.usage;
  }
  if (name === 'help') {
    const about = rest.filter((word) => !word.startsWith('-')).join(' ');
    if (about === '') return help();
    const command = COMMANDS.find((known) => known.name === about);
    if (command !== undefined) return help(command);
    if (isGroup(about)) return group(about);
    throw unknownCommand(about);
  }
  if (isGroup(name)) {
    if (rest.includes('--version')) return version();
    if (rest.includes('--help')) return group(name);
    if (asJson) throw new UsageError(`${name} needs a command after it`, `see \`turnback ${name} --help\``);
    process.stderr.write(`${groupHelp(name)}\n`);
    return forHost(name, EXIT.usage);
  }
  const command = COMMANDS.find((known) => known.name === name);
  if (command === undefined) throw unknownCommand(name);
  const given = parse(command, rest);
  if (given.has('version')) return version();
  if (given.has('help')) return help(command);
  return await run(command, given);
}

/** The command of a command line, of one word or of two (`sandbox list`), and the rest of it. */
function wordsOf(line: string[]): ReturnType<typeof commandOf> {
  const first = commandOf(line);
  if (first.name === undefined || !isGroup(first.name)) return first;
  const second = commandOf(first.rest);
  return second.name === undefined ? first : { name: `${first.name} ${second.name}`, rest: second.rest };
}

function print(text: string): ExitCode {
  process.stdout.write(`${text}\n`);
  return EXIT.done;
}

function unknownCommand(name: string): UsageError {
  const meant = closest(
    name,
    COMMANDS.map((command) => command.name),
  );
  const hint = 'see `turnback --help`';
  const shown = printable(name.length > 60 ? `${name.slice(0, 60)}…` : name);
  return new UsageError(`unknown command ${shown}`, meant === undefined ? hint : `did you mean ${meant}? ${hint}`);
}

async function run(command: Command, given: ReturnType<typeof parse>): Promise<number> {
  const output = new Output({ json: given.has('json'), quiet: given.has('quiet'), store: given.value('store') });
  const interrupt = new AbortController();
  // Once: a second interrupt ends the process as usual.
  const onInterrupt = () => interrupt.abort(new Error('interrupted'));
  process.once('SIGINT', onInterrupt);
  let opened: Promise<CheckpointManager> | undefined;
  const cap = given.value('store-cap');
  const maxBytes = cap === undefined ? undefined : bytes('--store-cap', cap);
  const store = () => {
    // A store called `ephemeral` is a directory here: one that goes with the process is of no use to a command.
    const path = given.value('store');
    opened ??= CheckpointManager.open({
      store: path === 'ephemeral' ? './ephemeral' : path,
      maxBytes,
      logger: output.logger(),
      // What a command's user has to know the command says itself, in its own words, but for what the logger lets through.
      logLevel: 'warn',
    });
    return opened;
  };
  const partial = given.has('allow-partial') ? EXIT.done : EXIT.partial;
  let code: number;
  let closeMs = Number.POSITIVE_INFINITY;
  try {
    code = await command.run(given, { store, output, signal: interrupt.signal, partial });
  } catch (error) {
    // Before the store is closed: that waits for work that was given up.
    code = forHost(command.name, fail(error, given.has('json'), given.value('store')));
    if (isTurnbackError(error) && GIVEN_UP.includes(error.code)) closeMs = CLOSE_MS;
  }
  process.off('SIGINT', onInterrupt);
  // A store that could not be opened has been reported already.
  const manager = await opened?.catch(() => undefined);
  if (manager !== undefined && (await within(manager.close(), closeMs)) === 'late') process.exit(code);
  return code;
}

/** What a call says that was given up. */
const GIVEN_UP: ErrorCode[] = ['ABORTED', 'TIMED_OUT'];

/** One line on stderr, or with `--json` a document on stdout. */
function fail(error: unknown, asJson: boolean, store?: string): ExitCode {
  const wrong = error instanceof UsageError || (isTurnbackError(error) && error.code === 'INVALID_ARGUMENT');
  if (asJson) process.stdout.write(`${json(errorDocument(error))}\n`);
  else process.stderr.write(`turnback: ${printableMessage(sentence(error, store))}\n`);
  return wrong ? EXIT.usage : EXIT.failed;
}
