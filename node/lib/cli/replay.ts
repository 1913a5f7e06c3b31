/**
 * Scenarios, from the other package. Loaded when they are used; and what is used of them is written down here, so that this package builds
 * without that one.
 */
import { createRequire } from 'node:module';

/** A scenario, as far as a command looks into it. */
export interface Scenario {
  driver?: object;
  policies?: Policy[];
  batches: { sandbox: string; turn: string | null; startMs: number; durationMs: number }[];
}

/** One policy. */
export interface Policy {
  kind: string;
  intervalMs?: number;
  when?: 'unless_read_only';
}

/** What a policy comes to, as far as it is shown. */
export interface Summary {
  name: string;
  mistake: boolean;
  checkpoints: number;
  failures: number;
  timeouts: number;
  unprotected: number;
  waiting: { totalMs: number; maxMs: number };
  lost: { maxMs: number; acrossTurns: number; nothing: number };
}

/** What was made of a log. */
export interface Imported {
  scenario: Scenario;
  unfinished: number;
  skipped: number;
  skippedParts: { line: number; reason: string }[];
}

interface Simulate {
  parseScenario(text: string, options: { onDropped(dropped: { line: number }): void }): Scenario;
  measuredDriver(scenario: Scenario): object | undefined;
  simulate(scenario: Scenario): { summaries: Summary[] };
}

interface Importers {
  importClaudeCode(text: string, options: { isReadOnly(command: string): boolean }): Imported;
  importSpans(text: string): Imported;
}

const load = createRequire(import.meta.url);

/** `turnback-policy/simulate`. */
export const simulation = (): Simulate => load('turnback-policy/simulate') as Simulate;

/** `turnback-policy/importers`. */
export const importers = (): Importers => load('turnback-policy/importers') as Importers;
