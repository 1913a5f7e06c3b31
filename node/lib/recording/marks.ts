/** What the package's parts know one another by: each may be in a file of its own, or in another copy of the package. */
import type { Guard, GuardOptions } from 'turnback-policy/shell';

/** On a batch whose end the guard will be told by whoever asks: `runBash` and the adapters. */
export const TOLD: unique symbol = Symbol.for('turnback.told') as never;

/** On a recording: how a guard is made that it hears of. */
export const ATTACH: unique symbol = Symbol.for('turnback.recording') as never;

/** What a recording needs to hear of a guard. */
export interface Attached {
  options: GuardOptions;
  make(options: GuardOptions): Guard;
  /** Whether a command is proven to only read (G14). */
  isReadOnly(command: string): boolean;
}
