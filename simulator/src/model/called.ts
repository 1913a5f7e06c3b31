import type { PolicyKind, Summary } from 'turnback-policy/simulate';
import { KINDS, letter } from './policy-words.js';

/** A policy as the headline speaks of it. */
export interface Told {
  readonly summary: Summary;
  readonly name: string;
}

/** The kinds as somebody of whom a sentence can tell what they do. */
const SUBJECTS: Readonly<Record<Exclude<PolicyKind, 'interval'>, string>> = {
  per_turn: 'once per turn',
  every_batch: 'checkpointing before every batch',
  last_turn_only: 'one that remembers the last turn only',
  shared_across_turns: 'one that shares attempts across turns',
  never: 'never checkpointing',
};

/**
 * The policies as subjects of a sentence: "a 30 s throttle", "once per turn (blocking)". A name that somebody gave stands in quotes as it
 * is, and two that are called the same are told apart by their letters.
 */
export function calledAll(all: readonly Told[]): ReadonlyMap<Told, string> {
  const names = all.map(called);
  return new Map(
    all.map((one, place) => {
      const name = names[place] ?? '';
      const alone = names.filter((other) => other === name).length === 1;
      return [one, alone ? name : `${name} (${letter(one.summary.policy)})`];
    }),
  );
}

function called({ summary: { kind }, name }: Told): string {
  const [head = '', ...rest] = name.split(', ');
  const more = rest.length === 0 ? '' : ` (${rest.join(', ')})`;
  if (kind === 'interval') {
    if (/^[\d.]+ (?:ms|s|min|h)\b.* throttle$/.test(head))
      return `${/^8|^1[18]\b/.test(head) ? 'an' : 'a'} ${head}${more}`;
  } else if (head === KINDS[kind].name) return `${SUBJECTS[kind]}${more}`;
  return `“${isolated(name)}”`;
}

/** A foreign text that cannot turn around what stands beside it: without the signs that do so, and on its own if it runs from right to left. */
export function isolated(text: string): string {
  const plain = text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '');
  return /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u.test(
    plain,
  )
    ? `\u2068${plain}\u2069`
    : plain;
}
