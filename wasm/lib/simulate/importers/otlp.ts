/** Spans in OTLP as JSON: what OpenTelemetry's exporters send and its collector writes to files. */
import { type Fields, fieldsOf, type Import, jsonOf, linesOf, listOf, textOf } from './imported.js';

type Attributes = Readonly<Record<string, unknown>>;

/** A span, as far as it is used. */
export interface Span {
  line: number;
  trace: string;
  id: string;
  parent: string | undefined;
  name: string;
  startMs: number;
  /** Nothing, if it had not ended. */
  endMs: number | undefined;
  attributes: Attributes;
  /** Those of what sent it. */
  resource: Attributes;
}

/** All spans of a text: one value, or a value on each line. What cannot be used is skipped. */
export function spansOf(text: string, found: Import): Span[] {
  const spans: Span[] = [];
  for (const { line, value } of valuesOf(text, found)) {
    const before = spans.length;
    for (const request of Array.isArray(value) ? value : [value]) {
      for (const { resource, span } of rawSpans(fieldsOf(request))) {
        const read = spanOf(span, resource, line);
        if (read === undefined) found.skip(line, 'a span has no id, no trace or no beginning');
        else spans.push(read);
      }
    }
    if (spans.length === before) found.skip(line, 'it holds no spans of OTLP (resourceSpans)');
  }
  return spans;
}

function* valuesOf(text: string, found: Import): Generator<{ line: number; value: unknown }> {
  const whole = jsonOf(text.replace(/^\uFEFF/, ''));
  if (whole !== undefined) {
    yield { line: 1, value: whole.value };
    return;
  }
  for (const { number, text: line } of linesOf(text)) {
    const own = jsonOf(line);
    if (own === undefined) found.skip(number, 'it is no JSON');
    else yield { line: number, value: own.value };
  }
}

function* rawSpans(request: Fields | undefined): Generator<{ resource: Attributes; span: Fields }> {
  for (const group of listOf(request?.resourceSpans)) {
    const resource = attributesOf(fieldsOf(group.resource)?.attributes);
    for (const scope of listOf(group.scopeSpans)) {
      for (const span of listOf(scope.spans)) yield { resource, span };
    }
  }
}

function spanOf(span: Fields, resource: Attributes, line: number): Span | undefined {
  const [trace, id, startMs] = [textOf(span.traceId), textOf(span.spanId), millisOf(span.startTimeUnixNano)];
  if (trace === undefined || id === undefined || startMs === undefined) return undefined;
  return {
    line,
    trace,
    id,
    parent: textOf(span.parentSpanId),
    name: textOf(span.name) ?? '',
    startMs,
    endMs: millisOf(span.endTimeUnixNano),
    attributes: attributesOf(span.attributes),
    resource,
  };
}

/** Whole milliseconds. Nanoseconds are a text in JSON, because numbers hold them no more exactly than to 256; 0 stands for no time. */
function millisOf(nanos: unknown): number | undefined {
  const exact = typeof nanos === 'string' && /^\d{1,20}$/.test(nanos);
  const ms = exact ? Number(BigInt(nanos) / 1_000_000n) : typeof nanos === 'number' ? Math.floor(nanos / 1e6) : 0;
  return ms > 0 && Number.isSafeInteger(ms) ? ms : undefined;
}

function attributesOf(pairs: unknown): Attributes {
  return Object.fromEntries(
    listOf(pairs).flatMap(({ key, value }) => (typeof key === 'string' ? [[key, plain(fieldsOf(value))]] : [])),
  );
}

/** A value without its wrapping. Of lists and maps nothing is used. */
function plain(value: Fields | undefined): unknown {
  return value?.stringValue ?? value?.boolValue ?? value?.doubleValue ?? value?.intValue;
}
