import type { Policy, PolicyKind } from 'turnback-policy/simulate';
import { duration } from './format.js';

/** What a policy may do, and what is wrong with it if it is one of the mistakes. */
export const KINDS: Readonly<Record<PolicyKind, { name: string; says: string; mistake: boolean }>> = {
  per_turn: {
    name: 'Once per turn',
    says: "Turnback's own rule: a checkpoint before the first batch of each turn, shared by all of its batches.",
    mistake: false,
  },
  every_batch: {
    name: 'Before every batch',
    says: 'A checkpoint before each batch: the least to lose, and the most to wait for.',
    mistake: false,
  },
  interval: {
    name: 'Time throttle',
    says: 'No checkpoint within so long of the last one, whatever turn that was for: later turns have none of their own.',
    mistake: true,
  },
  last_turn_only: {
    name: 'Remembers the last turn only',
    says: 'Turns that interleave make it forget one another, so that each is pictured again and again.',
    mistake: true,
  },
  shared_across_turns: {
    name: 'Attempts shared across turns',
    says: "A batch joins another turn's attempt and counts as covered, though what it pictured is that turn's beginning.",
    mistake: true,
  },
  never: { name: 'Never', says: 'No checkpoints: there is nothing to go back to.', mistake: false },
};

/** The letter by which a policy is known on the page. */
export const letter = (policy: number): string => {
  const last = String.fromCharCode(65 + (policy % 26));
  return policy < 26 ? last : `${letter(Math.floor(policy / 26) - 1)}${last}`;
};

/** What a policy is called: by its own name, else by what sets it apart. */
export function nameOf(policy: Policy): string {
  if (policy.name !== undefined && policy.name !== '') return policy.name;
  const parts = [policy.kind === 'interval' ? `${duration(policy.intervalMs ?? 0)} throttle` : KINDS[policy.kind].name];
  if (policy.when === 'unless_read_only') parts.push('unless read-only');
  if (policy.onFailure === 'block') parts.push('blocking');
  if (policy.timeoutMs !== undefined && policy.timeoutMs !== 10_000) parts.push(`waits ${duration(policy.timeoutMs)}`);
  return parts.join(', ');
}
