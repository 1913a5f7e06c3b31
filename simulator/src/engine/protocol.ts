import type { Policy, Scenario } from 'turnback-policy/simulate';
import type { Batches, Run } from '../model/columns.js';
import type { Setup } from '../model/link.js';

/** Where a scenario comes from. */
export type Source =
  | { readonly kind: 'builtin'; readonly id: string }
  | { readonly kind: 'text'; readonly name: string; readonly text: string }
  | { readonly kind: 'link'; readonly fragment: string };

/** What the page asks the worker for. */
export type Request =
  | { readonly type: 'load'; readonly source: Source }
  | { readonly type: 'run'; readonly setup: Setup }
  | { readonly type: 'export'; readonly format: 'json' | 'csv' | 'scenario'; readonly setup: Setup }
  | { readonly type: 'link'; readonly setup: Setup };

/** A scenario that has been read. */
export interface Loaded {
  /** The built-in scenario that it is. */
  readonly builtin?: string;
  readonly name: string;
  readonly description: string;
  readonly setup: Setup;
  readonly batches: Batches;
  /** What should be said although it could be read: a line that was cut off, for example. */
  readonly notes: readonly string[];
}

/** What became of it. */
export interface Simulated {
  readonly runs: readonly Run[];
  /** How long `simulate` took, in milliseconds. */
  readonly tookMs: number;
}

/** The answers, by the request's type. */
export interface Answers {
  load: Loaded;
  run: Simulated;
  export: string;
  link: { readonly fragment: string };
}

/** What went wrong, as it is told to the reader. */
export interface Trouble {
  readonly message: string;
  /** Where in the text, from 1. */
  readonly line?: number;
  readonly column?: number;
  /** Which field: `batches[3].startMs`. */
  readonly path?: string;
}

export type Reply = { readonly id: number } & ({ readonly answer: unknown } | { readonly trouble: Trouble });

/** What to compare first where a scenario says nothing of policies, as recordings and logs do. */
const FIRST: readonly Policy[] = [{ kind: 'per_turn' }, { kind: 'every_batch' }];

/** Everything but the batches, with what is left out filled in. */
export const setupOf = (scenario: Scenario): Setup => ({
  seed: scenario.seed ?? 0,
  driver: scenario.driver ?? {},
  policies: scenario.policies ?? FIRST,
});
