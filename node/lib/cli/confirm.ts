import { TurnbackError } from '../errors.js';
import { ask, canAsk } from './question.js';

/**
 * Asks a person; `false` where nobody can answer. The question goes to stderr, so that the output stays the command's.
 *
 * @throws TurnbackError `ABORTED` when it is interrupted at the question
 */
export async function confirmed(question: string, signal: AbortSignal): Promise<boolean> {
  if (!canAsk()) return false;
  const answer = await ask(`turnback: ${question} [y/n] `, ['yes', 'no'] as const, signal);
  if (answer === 'yes') return true;
  if (answer === 'no') return false;
  if (answer.none === 'ended' && !signal.aborted) return false;
  throw new TurnbackError('ABORTED', 'interrupted at the question; nothing was done', { cause: signal.reason });
}
