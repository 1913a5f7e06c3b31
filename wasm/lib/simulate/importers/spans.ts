/** Tool calls among OpenTelemetry's spans: those of the AI SDK in its own words, and those of everybody who uses the conventions for generative AI. */
import { aString } from '../../check.js';
import { Import, type Imported, jsonOf, textOf } from './imported.js';
import { type Span, spansOf } from './otlp.js';

/** What {@link importSpans} may be told. */
export interface SpanOptions {
  /**
   * The attribute that names a call's sandbox, on its span, on one around it or on what sent it. Without it, or where it is missing:
   * `turnback.sandbox.id`, then the conversation or session, then the service.
   */
  sandboxAttribute?: string | undefined;
  /** Whether a call only reads. Without it none does. `input` is what the tool was called with, where the span has it. If it throws, the call does not. */
  isReadOnly?: ((tool: string, input: unknown) => boolean) | undefined;
}

/** Where a sandbox's name is looked for, the best first. */
const SANDBOXES = [
  'turnback.sandbox.id',
  'ai.telemetry.metadata.sandboxId',
  'gen_ai.conversation.id',
  'session.id',
  'ai.telemetry.metadata.sessionId',
  'ai.telemetry.metadata.chatId',
  'service.instance.id',
  'service.name',
];

/** Where a turn's name is looked for. */
const TURNS = ['turnback.turn.id', 'ai.telemetry.metadata.turnId'];

/**
 * The tool calls among spans in OTLP as JSON: an export request, a list of them, or one on each line, as the collector's file exporter
 * writes them.
 *
 * A tool call is a span of the AI SDK (`ai.toolCall`) or one whose `gen_ai.operation.name` is `execute_tool`. Its *turn* is the turn that an
 * attribute names (`turnback.turn.id`), else the outermost run of a model around it (`ai.generateText`, `ai.streamText`, `invoke_agent`), else its
 * trace.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` when there is no tool call in it at all
 */
export function importSpans(text: string, options: SpanOptions = {}): Imported {
  const found = new Import();
  const spans = new Spans(spansOf(aString('text', text), found));
  for (const span of spans.all) {
    const tool = toolOf(span);
    if (tool === undefined) continue;
    const lookup = [options.sandboxAttribute, ...SANDBOXES].filter((name) => name !== undefined);
    found.call({
      sandbox: spans.attribute(span, lookup) ?? 'a service',
      turn: spans.attribute(span, TURNS) ?? spans.runOf(span)?.id ?? span.trace,
      startMs: span.startMs,
      endMs: span.endMs,
      sessionEndMs: () => spans.endOf(span.trace),
      readOnly: onlyReads(tool, span, options),
      tool,
    });
  }
  return found.result('from spans', "OpenTelemetry's spans in OTLP as JSON, with spans of tool calls among them");
}

/** The tool that a span is a call of. */
function toolOf({ name, attributes }: Span): string | undefined {
  const own = textOf(attributes['ai.toolCall.name']);
  if (own !== undefined) return own;
  if (attributes['gen_ai.operation.name'] !== 'execute_tool') return undefined;
  return textOf(attributes['gen_ai.tool.name']) ?? name.replace(/^execute_tool\s+/, '');
}

function onlyReads(tool: string, { attributes }: Span, { isReadOnly }: SpanOptions): boolean {
  if (isReadOnly === undefined) return false;
  const input = attributes['ai.toolCall.args'] ?? attributes['gen_ai.tool.call.arguments'];
  try {
    return isReadOnly(tool, typeof input === 'string' ? (jsonOf(input)?.value ?? input) : input) === true;
  } catch {
    // What nothing can be proven of counts as destructive.
    return false;
  }
}

/** Whether a span is one run of a model, with its steps and tool calls in it. */
function isRun({ attributes }: Span): boolean {
  const operation = attributes['ai.operationId'];
  if (typeof operation === 'string') return /^ai\.(generate|stream)(Text|Object)$/.test(operation);
  return attributes['gen_ai.operation.name'] === 'invoke_agent';
}

/** Spans with what is around them. */
class Spans {
  readonly #byId = new Map<string, Span>();
  /** What Turnback's own spans say of the span that they are in: the guard is asked within a call. */
  readonly #told = new Map<string, Record<string, unknown>>();
  readonly #ends = new Map<string, number>();

  constructor(spans: readonly Span[]) {
    for (const span of spans) {
      const { trace, startMs, endMs = startMs, name, attributes, parent } = span;
      this.#byId.set(key(trace, span.id), span);
      this.#ends.set(trace, Math.max(this.#ends.get(trace) ?? startMs, endMs));
      if (name.startsWith('turnback.') && parent !== undefined) {
        const told = this.#told.get(key(trace, parent)) ?? {};
        this.#told.set(key(trace, parent), { ...attributes, ...told });
      }
    }
  }

  /** Each once: an exporter that tries again sends some twice. */
  get all(): Iterable<Span> {
    return this.#byId.values();
  }

  /** The last moment that is known of a trace. */
  endOf(trace: string): number {
    return this.#ends.get(trace) ?? 0;
  }

  /** The outermost run around a span. */
  runOf(span: Span): Span | undefined {
    return this.#around(span).filter(isRun).at(-1);
  }

  /** The first of these attributes that a span has, or one around it, or what sent it. */
  attribute(span: Span, names: readonly string[]): string | undefined {
    const around = this.#around(span);
    const sources = [
      ...around.flatMap((one) => [one.attributes, this.#told.get(key(one.trace, one.id)) ?? {}]),
      span.resource,
    ];
    for (const name of names) {
      const value = sources.map((source) => textOf(source[name])).find((text) => text !== undefined);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** The span and those around it, from within. A circle ends. */
  #around(span: Span): Span[] {
    const around = new Set<Span>();
    for (let at: Span | undefined = span; at !== undefined && !around.has(at); ) {
      around.add(at);
      at = at.parent === undefined ? undefined : this.#byId.get(key(at.trace, at.parent));
    }
    return [...around];
  }
}

const key = (trace: string, id: string): string => `${trace} ${id}`;
