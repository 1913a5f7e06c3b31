import { failure } from '../../error.js';
import type { Scenario, ScenarioBatch } from '../scenario.js';

/** A part of a log that could not be used. */
export interface SkippedPart {
  /** The line that it begins on, from 1. */
  line: number;
  /** What is wrong with it. */
  reason: string;
}

/** A scenario out of a log, and what is not in it. */
export interface Imported {
  /** The log's tool calls, in the order of their beginnings. The first begins at 0 ms. Driver and policies are the reader's to choose. */
  scenario: Scenario;
  /** Tool calls of which the log does not say when they ended: they last until the last moment that it knows of their session. */
  unfinished: number;
  /** How many parts of the log could not be used. Records of other kinds than tool calls are none of them. */
  skipped: number;
  /** The first 20 of those. */
  skippedParts: SkippedPart[];
}

/** A tool call in a log. */
export interface Call {
  sandbox: string;
  turn: string | null;
  /** Milliseconds of whichever clock, whole or not. */
  startMs: number;
  /** Nothing, if the log does not say: then it lasts until the end of its session. */
  endMs: number | undefined;
  /** What it lasts until then. */
  sessionEndMs: () => number;
  readOnly: boolean;
  tool: string;
}

const MOST_PARTS = 20;

/** Collects what an importer finds in a log. */
export class Import {
  readonly #calls: Call[] = [];
  readonly #skippedParts: SkippedPart[] = [];
  #skipped = 0;

  call(call: Call): void {
    this.#calls.push(call);
  }

  skip(line: number, reason: string): void {
    this.#skipped += 1;
    if (this.#skippedParts.length < MOST_PARTS) this.#skippedParts.push({ line, reason });
  }

  /** What was found. Without any call it is an error: `expected` says what was looked for. */
  result(name: string, expected: string): Imported {
    if (this.#calls.length === 0) throw this.#nothing(expected);
    const calls = this.#calls.sort((one, other) => one.startMs - other.startMs);
    const originMs = Math.floor(calls[0]?.startMs ?? 0);
    const batches = calls.map((call) => batchOf(call, originMs));
    return {
      scenario: { version: 1, name, batches },
      unfinished: calls.filter(({ endMs }) => endMs === undefined).length,
      skipped: this.#skipped,
      skippedParts: this.#skippedParts,
    };
  }

  #nothing(expected: string): Error {
    const [first] = this.#skippedParts;
    const skipped =
      first === undefined
        ? ''
        : `; ${this.#skipped === 1 ? 'one part' : `${this.#skipped} parts`} could not be used, the first on line ${first.line}: ${first.reason}`;
    return failure('INVALID_ARGUMENT', `there is no tool call in this text: pass ${expected}${skipped}`, {
      details: { argument: 'text', skipped: this.#skipped, line: first?.line ?? 1 },
    });
  }
}

/** Clocks of logs may be set back: nothing lasts less than no time. */
function batchOf(
  { sandbox, turn, startMs, endMs, sessionEndMs, readOnly, tool }: Call,
  originMs: number,
): ScenarioBatch {
  const start = Math.floor(startMs) - originMs;
  const end = Math.floor(endMs ?? sessionEndMs()) - originMs;
  return {
    sandbox,
    turn,
    startMs: start,
    durationMs: Math.max(0, end - start),
    kind: readOnly ? 'read_only' : 'destructive',
    tool,
  };
}

/** What may have any properties. */
export type Fields = Readonly<Record<string, unknown>>;

/** An object that is no array, or nothing. */
export function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

/** The objects in a list; what is no list has none. */
export function listOf(value: unknown): Fields[] {
  if (!Array.isArray(value)) return [];
  return value.map(fieldsOf).filter((fields) => fields !== undefined);
}

/** A text that is not empty, or nothing. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The lines of a text that are not blank, with their numbers. */
export function* linesOf(text: string): Generator<{ number: number; text: string }> {
  let number = 0;
  for (const line of text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)) {
    number += 1;
    if (line.trim() !== '') yield { number, text: line };
  }
}

/** What a line holds as JSON; nothing if it holds none. */
export function jsonOf(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
