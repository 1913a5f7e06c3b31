/**
 * The proof that a shell command only reads (G14). It comes from the addon; where that cannot be loaded, from `turnback-policy/read-only`,
 * which is the same Rust as WebAssembly (X5).
 */
import { createRequire } from 'node:module';
import { addonIfAny } from './addon.js';
import { text } from './check.js';

/** What {@link judgeCommand} says. */
export type CommandJudgement =
  | { readonly readOnly: true }
  | {
      readonly readOnly: false;
      /** What in it is not proven to only read: a sentence without a full stop, for people. */
      readonly why: string;
    };

/** What is used of `turnback-policy/read-only`. Written down here, so that this package builds without that one. */
interface PortableProof {
  judgeCommand(command: string): CommandJudgement;
}

let wasm: PortableProof | undefined;

/**
 * Judges a command line, as it would be given to `sh -c`: read-only when every part of it is proven to be, otherwise destructive,
 * with the first thing that is not proven. What cannot be parsed, or is longer than 4,096 bytes, counts as destructive. Pure and
 * synchronous: nothing is read, nothing is run.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` when it is no well-formed text
 */
export function judgeCommand(command: string): CommandJudgement {
  const given = text('command', command);
  const addon = addonIfAny();
  if (addon === undefined) {
    wasm ??= createRequire(import.meta.url)('turnback-policy/read-only') as PortableProof;
    return wasm.judgeCommand(given);
  }
  const why = addon.whyNotReadOnly(given) ?? undefined;
  return Object.freeze(why === undefined ? { readOnly: true } : { readOnly: false, why });
}

/**
 * Whether a command line is proven to only read; {@link judgeCommand} says why not.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` when it is no well-formed text
 */
export function isReadOnly(command: string): boolean {
  return judgeCommand(command).readOnly;
}
