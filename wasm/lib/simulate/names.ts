import { anObject } from '../check.js';
import { invalidArgument } from '../error.js';
import { CHECKPOINT_TIMEOUT_MS } from '../shell/options.js';
import type { Policy } from './scenario.js';

const seconds = (ms: number) => (ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`);

/** What the kinds are called, without `interval`, whose name has its length in it. */
const KINDS: Readonly<Record<Exclude<Policy['kind'], 'interval'>, string>> = {
  per_turn: 'once a turn',
  every_batch: 'every batch',
  last_turn_only: 'last turn only',
  shared_across_turns: 'shared across turns',
  never: 'never',
};

/** What a policy is called: its own name, or one made from the rest, for instance `once a turn, unless read-only`. */
export function policyName(policy: Policy): string {
  const {
    kind,
    name,
    when,
    timeoutMs = CHECKPOINT_TIMEOUT_MS,
    onFailure,
    intervalMs = 0,
    retention,
  } = anObject('policy', policy);
  if (name !== undefined) return name;
  if (kind !== 'interval' && !Object.hasOwn(KINDS, kind))
    throw invalidArgument('policy', `policy.kind is none: pass interval, ${Object.keys(KINDS).join(', ')}`);
  const parts = [kind === 'interval' ? `not within ${seconds(intervalMs)}` : KINDS[kind]];
  if (when === 'unless_read_only') parts.push('unless read-only');
  if (timeoutMs !== CHECKPOINT_TIMEOUT_MS) parts.push(`${seconds(timeoutMs)} limit`);
  if (onFailure === 'block') parts.push('block');
  if (retention?.keepLast !== undefined) parts.push(`keep ${retention.keepLast}`);
  if (retention?.keepWithinMs !== undefined) parts.push(`keep for ${seconds(retention.keepWithinMs)}`);
  return parts.join(', ');
}
