/**
 * Which run of the AI SDK a tool call belongs to. The SDK does not say, in none of its versions 5 to 7, so it is seen from the
 * messages that come with each call, by the identity of objects and never by their content:
 *
 * - Calls of one step come with the same array, which the SDK makes anew for each step.
 * - From the second step on, the messages hold the calls of the steps before, with the very input objects that the tools got.
 *
 * Neither is in another run that goes on at the same time, even if it began with the same messages. What is not certain is
 * another turn: a checkpoint too many, never one too few (G11).
 */
import { freshTurn } from './call.js';

/** A run, as far as it is known. */
interface Run {
  readonly turnId: string;
  /** The last step of it that was seen. Only from there can it go on: a second successor is another run. */
  latest: Step;
}

interface Step {
  readonly run: Run;
  /** Somebody's own array may have grown since, or been filled anew: then it is another step. */
  readonly length: number;
  readonly last: unknown;
}

/** A call that was made. */
interface Call {
  readonly step: Step;
  /** The SDK makes them anew for each call; a tool that is wrapped twice passes them on. */
  readonly options: object;
}

/** What is known, by objects that the SDK lets go of with the run. */
const steps = new WeakMap<object, Step>();
const calls = new WeakMap<object, Call>();

/** The turn of a call. To be asked in the same tick as the call is made, and once for each call. */
export function turnOfCall(input: unknown, options: unknown): string {
  if (!isObject(options)) return freshTurn();
  const { messages } = options;
  // Without messages nothing is certain.
  if (!Array.isArray(messages) || messages.length === 0) return freshTurn();
  const before = isObject(input) ? calls.get(input) : undefined;
  if (before?.options === options) return before.step.run.turnId;
  const step = knownStep(messages, before) ?? nextStep(messages, before) ?? newRun(messages);
  steps.set(messages, step);
  if (isObject(input)) calls.set(input, { step, options });
  return step.run.turnId;
}

/** The step whose other calls came with the same array. A run makes each call once: one that was made is another run's. */
function knownStep(messages: unknown[], before: Call | undefined): Step | undefined {
  const step = steps.get(messages);
  const same = step?.length === messages.length && step.last === messages.at(-1);
  return same && before?.step !== step ? step : undefined;
}

/** The next step of the run whose calls the messages end with. */
function nextStep(messages: unknown[], before: Call | undefined): Step | undefined {
  if (before !== undefined) return undefined;
  const previous = lastCall(messages)?.step;
  if (previous === undefined || previous.run.latest !== previous) return undefined;
  const step = { run: previous.run, length: messages.length, last: messages.at(-1) };
  step.run.latest = step;
  return step;
}

function newRun(messages: unknown[]): Step {
  const run = { turnId: freshTurn() } as Run;
  const step = { run, length: messages.length, last: messages.at(-1) };
  run.latest = step;
  return step;
}

/** The last call in the messages that is known. What a user said ends a turn: what is before it is history. */
function lastCall(messages: unknown[]): Call | undefined {
  for (const message of messages.toReversed()) {
    if (!isObject(message) || (message.role !== 'assistant' && message.role !== 'tool')) return undefined;
    if (!Array.isArray(message.content)) continue;
    for (const part of message.content) {
      const call = isObject(part) && isObject(part.input) ? calls.get(part.input) : undefined;
      if (call !== undefined) return call;
    }
  }
  return undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
