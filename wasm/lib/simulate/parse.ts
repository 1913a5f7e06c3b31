/** A scenario as people keep it: one JSON object, or JSON Lines as the recorder writes them. */
import { aString } from '../check.js';
import { failure, isTurnbackError, type TurnbackError } from '../error.js';
import { type Found, JsonProblem, JsonReader, type Step } from './json.js';
import { pathOf, stepsOf } from './path.js';
import type { Scenario } from './scenario.js';
import { checkScenario } from './validate.js';

/** A last line that was cut off: whoever wrote it ended in the middle. Its batch is not in the scenario. */
export interface DroppedLine {
  /** Its number, from 1. */
  line: number;
  text: string;
}

/** What {@link parseScenario} may be told. */
export interface ParseOptions {
  /** Hears of the last line of JSON Lines when it is cut off, which is no error. */
  onDropped?: ((dropped: DroppedLine) => void) | undefined;
}

/**
 * The scenario in a text: one JSON object; or JSON Lines, whose first line is that object with some batches or none and each further
 * line one batch. Of JSON Lines the last one may be cut off, as a process that is killed leaves it: it is dropped, and `onDropped` hears of it.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` for everything else that is no scenario, with a message for whoever wrote the text; where it
 *   is wrong stands there and in `details`: `line` and `column` from 1, and the `path` of the field, for example `batches[3].startMs`
 */
export function parseScenario(text: string, { onDropped }: ParseOptions = {}): Scenario {
  const source = new Source(aString('text', text));
  const { value, dropped } = source.read();
  try {
    checkScenario(value);
  } catch (error) {
    throw isTurnbackError(error) ? source.placed(error, value) : error;
  }
  if (dropped !== undefined) onDropped?.(dropped);
  return value as Scenario;
}

/** Everything that a text says; nothing of it is checked. */
interface Read {
  value: unknown;
  dropped?: DroppedLine;
  /** What comes nearest to the path that was looked for. */
  found?: Found;
}

/** No field of a scenario lies deeper. */
const MOST_STEPS = 8;

const LINE_END = /\r\n|\n|\r/g;

/** A text with places in it. */
class Source {
  readonly #text: string;
  /** Editors show no mark of byte order, and count no column for it. */
  readonly #start: number;

  constructor(text: string) {
    this.#text = text;
    this.#start = text.startsWith('\uFEFF') ? 1 : 0;
  }

  /** What the text says. Looks for the value of a path on the way. */
  read(wanted: readonly Step[] = []): Read {
    try {
      return this.#read(wanted);
    } catch (error) {
      if (!(error instanceof JsonProblem)) throw error;
      const path = pathOf(error.path.slice(0, MOST_STEPS));
      throw this.#refused(path === '' ? error.message : `${path}: ${error.message}`, error.at, path);
    }
  }

  /** What was said of the value of a path, with the place where it stands. */
  placed(error: TurnbackError, value: unknown): TurnbackError {
    const path = typeof error.details.path === 'string' ? error.details.path : '';
    const { found } = this.read(stepsOf(path, value));
    return this.#refused(error.message, found?.at ?? this.#start, path, error);
  }

  #read(wanted: readonly Step[]): Read {
    const text = this.#text;
    const first = new JsonReader(text, this.#start, text.length, wanted);
    if (first.over) throw new JsonProblem('the text is empty: a scenario is a JSON object', first.at, false, []);
    const value = first.value();
    if (first.over) return { value, ...(first.found && { found: first.found }) };
    this.#newLine(first, 'the scenario');
    return this.#lines(first, value, wanted);
  }

  /** The lines behind the scenario itself: a batch each. */
  #lines(head: JsonReader, value: unknown, wanted: readonly Step[]): Read {
    const batches = this.#batchesOf(value);
    let found = head.found;
    for (const { start, end } of this.#linesFrom(head.at)) {
      const reader = new JsonReader(this.#text, start, end, wanted);
      if (reader.over) continue;
      try {
        batches.push(reader.value('batches', batches.length));
      } catch (error) {
        const last = end === this.#text.length;
        if (!(error instanceof JsonProblem && error.cutOff && last)) throw error;
        const dropped = { line: this.#place(start).line, text: this.#text.slice(start, end) };
        return { value, dropped, ...(found && { found }) };
      }
      if (!reader.over) this.#newLine(reader, 'a batch');
      if (reader.found !== undefined && reader.found.steps > (found?.steps ?? -1)) found = reader.found;
    }
    return { value, ...(found && { found }) };
  }

  /** The batches of the first line, to which those of the other lines are added. */
  #batchesOf(value: unknown): unknown[] {
    const scenario = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
    if (scenario !== undefined && !Object.hasOwn(scenario, 'version') && Object.hasOwn(scenario, 'sandbox')) {
      throw new JsonProblem(
        'the first line is a batch: put the scenario itself before it, for example {"version":1}',
        this.#start,
        false,
        [],
      );
    }
    // Whatever else it is, is refused when it is checked.
    if (scenario === undefined) return [];
    const given: { batches?: unknown } = scenario;
    if (!Object.hasOwn(given, 'batches')) given.batches = [];
    return Array.isArray(given.batches) ? given.batches : [];
  }

  *#linesFrom(start: number): Generator<{ start: number; end: number }> {
    let from = start;
    for (const ending of this.#text.slice(start).matchAll(LINE_END)) {
      yield { start: from, end: start + ending.index };
      from = start + ending.index + ending[0].length;
    }
    yield { start: from, end: this.#text.length };
  }

  /** Two values on a line would be read by nobody else. */
  #newLine(reader: JsonReader, what: string): void {
    if (/[\r\n]/.test(this.#text.slice(reader.ended, reader.at))) return;
    const advice = 'in JSON Lines each batch has a line of its own';
    throw new JsonProblem(`${what} ends before here, and more follows on its line: ${advice}`, reader.at, false, []);
  }

  #refused(message: string, at: number, path: string, cause?: unknown): TurnbackError {
    const { line, column } = this.#place(at);
    return failure('INVALID_ARGUMENT', `line ${line}, column ${column}: ${message}`, {
      details: { argument: 'text', line, column, path },
      ...(cause === undefined ? {} : { cause }),
    });
  }

  /** A place as editors count them. */
  #place(at: number): { line: number; column: number } {
    let line = 1;
    let start = this.#start;
    for (const ending of this.#text.matchAll(LINE_END)) {
      const next = ending.index + ending[0].length;
      if (next > at) break;
      line += 1;
      start = next;
    }
    return { line, column: at - start + 1 };
  }
}
