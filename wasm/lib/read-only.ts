/**
 * The proof that a shell command only reads (G14): a second WebAssembly module, larger than all the rest of the package, so that
 * only who imports this entry has it. Pure, synchronous, without I/O; it is started when it is first asked.
 */
import { connect } from '../pkg/read_only_bg.js';
import { text } from '../pkg/read_only_bytes.js';
import { anId } from './check.js';
import { moduleOf } from './start.js';

export { type ErrorCode, isTurnbackError, type TurnbackError } from './error.js';

/** What {@link judgeCommand} says. */
export type CommandJudgement =
  | { readonly readOnly: true }
  | {
      readonly readOnly: false;
      /** What in it is not proven to only read: a sentence without a full stop, for people. */
      readonly why: string;
    };

const proof = moduleOf('read_only', text, connect);

/**
 * Judges a command line, as it would be given to `sh -c`: read-only when every part of it is proven to be, otherwise destructive,
 * with the first thing that is not proven. What cannot be parsed, or is longer than 4,096 bytes, counts as destructive.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` when it is no well-formed text; `UNSUPPORTED_PLATFORM` without WebAssembly
 */
export function judgeCommand(command: string): CommandJudgement {
  const given = anId('command', command);
  const why = proof().whyNotReadOnly(given);
  return Object.freeze(why === undefined ? { readOnly: true } : { readOnly: false, why });
}

/**
 * Whether a command line is proven to only read; {@link judgeCommand} says why not. Pass it to `createGuard` as `isReadOnly`.
 *
 * @throws TurnbackError as {@link judgeCommand}
 */
export function isReadOnly(command: string): boolean {
  return judgeCommand(command).readOnly;
}
