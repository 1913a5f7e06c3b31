import { isText } from './batch.js';

/** Says whether a command is proven to only read. */
export type Proof = (command: string) => boolean;

/**
 * Whether everything that a batch is about to do is proven to only read (G14). What is not given, is no text or cannot even be read
 * counts as destructive.
 */
export function isProven(batch: unknown, proof: Proof): boolean {
  try {
    const { command } = batch as { command?: unknown };
    const commands: unknown[] = Array.isArray(command) ? [...command] : [command];
    return commands.length > 0 && commands.every((one) => isText(one) && proof(one));
  } catch {
    // A getter that throws has named no command.
    return false;
  }
}
