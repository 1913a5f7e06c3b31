import { CHECKPOINT_TIMEOUT_MS } from '../shell/options.js';
import type { Policy } from './scenario.js';

const seconds = (ms: number) => (ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`);

/** What a policy is called: its own name, or one made from the rest, for instance `once a turn, unless read-only`. */
export function policyName(policy: Policy): string {
  const { kind, name, when, timeoutMs = CHECKPOINT_TIMEOUT_MS, onFailure, intervalMs = 0, retention } = policy;
  if (name !== undefined) return name;
  const kinds: Record<Policy['kind'], string> = {
    per_turn: 'once a turn',
    every_batch: 'every batch',
    interval: `not within ${seconds(intervalMs)}`,
    last_turn_only: 'last turn only',
    shared_across_turns: 'shared across turns',
    never: 'never',
  };
  const parts = [kinds[kind]];
  if (when === 'unless_read_only') parts.push('unless read-only');
  if (timeoutMs !== CHECKPOINT_TIMEOUT_MS) parts.push(`${seconds(timeoutMs)} limit`);
  if (onFailure === 'block') parts.push('block');
  if (retention?.keepLast !== undefined) parts.push(`keep ${retention.keepLast}`);
  if (retention?.keepWithinMs !== undefined) parts.push(`keep for ${seconds(retention.keepWithinMs)}`);
  return parts.join(', ');
}
