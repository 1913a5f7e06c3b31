/** The options of `runBash`, all checked before anything is looked at or asked. */
import { type Check, callback, deadline, options, record, signal, text, whole } from '../check.js';
import { invalidArgument } from '../errors.js';
import { nameId } from '../options.js';
import { absolute } from '../paths.js';
import { guard } from './guard.js';
import { LIMITS } from './limits.js';
import type { CommandGuard, CommandSandbox, OutputChunk, RunBashOptions } from './types.js';

/** A directory's absolute path, or a sandbox that will name one. */
export type Target = { directory: Buffer } | { sandbox: CommandSandbox };

const target: Check<Target> = (name, value) => {
  if (typeof value === 'string') return { directory: absolute(name, value) };
  if (typeof value === 'object' && value !== null) {
    const { id, enter } = value as Partial<CommandSandbox>;
    if (typeof id === 'string' && typeof enter === 'function') {
      nameId(`${name}.id`, id);
      return { sandbox: value as CommandSandbox };
    }
  }
  throw invalidArgument(
    name,
    `${name} is neither a sandbox nor a directory: pass what createSandbox() gave, or a path`,
  );
};

/** Text of 1 to `bytes` bytes of UTF-8 without a NUL. */
function limited(bytes: number): Check<string> {
  return (name, value) => {
    const given = text(name, value);
    const length = Buffer.byteLength(given);
    if (length < 1 || length > bytes) {
      throw invalidArgument(name, `${name} has ${length} bytes: it takes 1 to ${bytes}`);
    }
    if (given.includes('\0')) throw invalidArgument(name, `${name} holds a NUL character: remove it`);
    return given;
  };
}

/** Pairs of a name and a value, or `undefined` for a variable that is to go. */
const environment: Check<[string, string | undefined][]> = (name, value) =>
  Object.entries(record(name, value)).map(([key, given]) => {
    const shown = `${name}[${JSON.stringify(key.length > 40 ? `${key.slice(0, 40)}…` : key)}]`;
    limited(LIMITS.argumentBytes)(`a name in ${name}`, key);
    if (key.includes('=')) throw invalidArgument(name, `${shown} has a name with an equals sign: no variable has`);
    if (given === undefined) return [key, undefined];
    const content = text(shown, given);
    if (content.includes('\0')) throw invalidArgument(name, `${shown} holds a NUL character: remove it`);
    if (Buffer.byteLength(`${key}=${content}`) > LIMITS.argumentBytes) {
      throw invalidArgument(
        name,
        `${shown} is too long: name and value take at most ${LIMITS.argumentBytes - 1} bytes`,
      );
    }
    return [key, content];
  });

const command = limited(LIMITS.argumentBytes);

const SPEC = {
  sandbox: target,
  command,
  guard,
  turnId: limited(LIMITS.turnIdBytes),
  timeoutMs: deadline,
  maxOutputBytes: whole(LIMITS.leastOutputBytes, LIMITS.mostOutputBytes),
  env: environment,
  signal,
  onOutput: callback<(chunk: OutputChunk) => void>(),
};

/** Options that hold. */
export interface Checked {
  target: Target;
  command: string;
  guard: CommandGuard | undefined;
  turnId: string | undefined;
  timeoutMs: number | undefined;
  maxOutputBytes: number;
  env: [string, string | undefined][];
  signal: AbortSignal | undefined;
  onOutput: ((chunk: OutputChunk) => void) | undefined;
}

/** Checks all of them; a relative directory becomes absolute here. */
export function checked(given: RunBashOptions): Checked {
  const { sandbox, ...rest } = options('options', SPEC, given);
  return {
    target: sandbox ?? target('options.sandbox', sandbox),
    command: rest.command ?? command('options.command', rest.command),
    guard: rest.guard,
    turnId: rest.turnId,
    timeoutMs: rest.timeoutMs,
    maxOutputBytes: rest.maxOutputBytes ?? LIMITS.outputBytes,
    env: rest.env ?? [],
    signal: rest.signal,
    onOutput: rest.onOutput,
  };
}
