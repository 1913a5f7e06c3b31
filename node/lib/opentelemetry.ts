/**
 * Spans for OpenTelemetry, from the messages of the channel `turnback` (X4).
 *
 * A span is named `turnback.` and the operation, as in `turnback.checkpoint.create`, and is a child of the span that is active where the call
 * is made. Its attributes, each where there is one: `turnback.store`, `turnback.checkpoint.id`, `turnback.sandbox.id`, `turnback.turn.id`; of a
 * verdict `turnback.outcome`, `turnback.reason`, `turnback.protected`, `turnback.late`; of a checkpoint `turnback.files`, `turnback.complete`; of
 * a restore `turnback.restored`, `turnback.written`, `turnback.deleted`. A failed one has the status ERROR and `error.type`, the error's code.
 */
import { node } from './builtin.js';
import { invalidArgument, isTurnbackError } from './errors.js';
import { CHANNEL, type OperationMessage } from './observe.js';

/** What is used of a `Span` of `@opentelemetry/api`. */
export interface Span {
  setAttributes(attributes: Record<string, string | number | boolean>): unknown;
  setStatus(status: { code: 2; message?: string }): unknown;
  recordException(error: Error): unknown;
  end(): void;
}

/** What is used of a `Tracer` of `@opentelemetry/api`. */
export interface Tracer {
  startSpan(name: string, options?: { attributes?: Record<string, string | number | boolean> }): Span;
}

type Attributes = Record<string, string | number | boolean>;

/** The attributes of what is found under these names; the values of the wrong kind are left out. */
function attributesOf(from: unknown, names: Readonly<Record<string, string>>): Attributes {
  if (typeof from !== 'object' || from === null) return {};
  const found: Attributes = {};
  for (const [name, attribute] of Object.entries(names)) {
    const value: unknown = (from as Record<string, unknown>)[name];
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') found[attribute] = value;
  }
  return found;
}

const ASKED = {
  store: 'turnback.store',
  checkpointId: 'turnback.checkpoint.id',
  sandboxId: 'turnback.sandbox.id',
  turnId: 'turnback.turn.id',
};

const ANSWERED = {
  checkpointId: 'turnback.checkpoint.id',
  outcome: 'turnback.outcome',
  reason: 'turnback.reason',
  protected: 'turnback.protected',
  late: 'turnback.late',
  restored: 'turnback.restored',
  written: 'turnback.written',
  deleted: 'turnback.deleted',
};

const COVERAGE = { files: 'turnback.files', complete: 'turnback.complete' };

function answered(result: unknown): Attributes {
  const coverage = typeof result === 'object' && result !== null && 'coverage' in result ? result.coverage : undefined;
  // A prune's `deleted` is a list; a boolean is the whole answer of a deletion.
  return { ...attributesOf(result, ANSWERED), ...attributesOf(coverage, COVERAGE) };
}

/**
 * From now on a tracer gets a span for each operation of this package. A tracer that throws disturbs nothing.
 *
 * ```ts
 * import { trace } from '@opentelemetry/api';
 * const stop = traceWith(trace.getTracer('turnback'));
 * ```
 *
 * @returns what ends that
 * @throws TurnbackError `INVALID_ARGUMENT` when it is no tracer
 */
export function traceWith(tracer: Tracer): () => void {
  if (typeof tracer?.startSpan !== 'function') {
    throw invalidArgument('tracer', "tracer is no Tracer: pass what trace.getTracer('turnback') gives");
  }
  const spans = new WeakMap<object, Span>();
  const quietly =
    (hear: (message: OperationMessage) => void) =>
    (message: unknown): void => {
      try {
        hear(message as OperationMessage);
      } catch {
        // Observing must decide nothing, and an exception here would be an uncaught one.
      }
    };
  const end = (message: OperationMessage) => {
    const span = spans.get(message);
    spans.delete(message);
    return span;
  };
  const subscribers = {
    start: quietly((message) => {
      const attributes = attributesOf(message, ASKED);
      spans.set(message, tracer.startSpan(`turnback.${message.operation}`, { attributes }));
    }),
    // Of promises only the asynchronous ends tell the outcome.
    end: () => {},
    asyncStart: () => {},
    asyncEnd: quietly((message) => {
      const span = end(message);
      try {
        if (span === undefined) return;
        if ('error' in message) failed(span, message.error);
        else span.setAttributes(answered(message.result));
      } finally {
        span?.end();
      }
    }),
    error: () => {},
  };
  const channel = node.diagnosticsChannel.tracingChannel<string, OperationMessage>(CHANNEL);
  channel.subscribe(subscribers as never);
  return () => void channel.unsubscribe(subscribers as never);
}

function failed(span: Span, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  span.setStatus({ code: 2, message });
  span.setAttributes({ 'error.type': isTurnbackError(error) ? error.code : 'unknown' });
  if (error instanceof Error) span.recordException(error);
}
