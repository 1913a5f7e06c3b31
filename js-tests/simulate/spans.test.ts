// P4: spans as scenarios. The logs are made here by the real packages: the AI SDK in its versions 5 to 7 and OpenTelemetry's own exporter.
import { OpenTelemetry } from '@ai-sdk/otel';
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { createGuard, isReadOnly } from 'turnback';
import { wrapTools } from 'turnback/ai';
import { traceWith } from 'turnback/opentelemetry';
import { importSpans } from 'turnback-policy/importers';
import { checkScenario } from 'turnback-policy/simulate';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { WAYS } from '../adapters/sdks.js';
import { prompt } from '../recording/support.js';

beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
afterAll(() => context.disable());

/** A tracer, and everything that it was told, as the exporter sends it. */
function tracing() {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const sent = () => new TextDecoder().decode(JsonTraceSerializer.serializeRequest(exporter.getFinishedSpans()));
  return { tracer: provider.getTracer('test'), sent, spans: () => exporter.getFinishedSpans() };
}

/** What a run is to be told to get its spans, in the words of each version. */
const telemetry = (
  version: number,
  tracer: ReturnType<typeof tracing>['tracer'],
  metadata: Record<string, string> = {},
) =>
  version === 7
    ? { telemetry: { isEnabled: true, integrations: [new OpenTelemetry({ tracer })] } }
    : { experimental_telemetry: { isEnabled: true, tracer, metadata } };

const proven = (tool: string, input: unknown) => tool === 'bash' && isReadOnly((input as { command: string }).command);

describe.each(WAYS)('%s', (_, sdk, mode) => {
  /** Two runs, one of them with two calls side by side in one of two steps. */
  async function ran(guarded: (tools: object) => object = (tools) => tools) {
    const { tracer, sent, spans } = tracing();
    const input = { inputSchema: z.object({ command: z.string() }) };
    const tools = guarded({
      bash: sdk.tool({ ...input, execute: async () => 'done' }),
      fails: sdk.tool({
        ...input,
        execute: async () => {
          throw new Error('no');
        },
      }),
    });
    const stop = traceWith(tracer);
    const call = (id: string, tool: string, command: string) => ({ id, tool, input: { command } });
    const more = telemetry(sdk.version, tracer);
    const first = [[call('1', 'bash', 'ls'), call('2', 'bash', 'rm a')], [call('3', 'fails', 'ls')], 'done'];
    await sdk.run(mode, { tools, steps: first, more });
    await sdk.run(mode, { tools, steps: [[call('4', 'bash', 'make')], 'done'], more });
    stop();
    return { text: sent(), spans: spans() };
  }

  it('each call is a batch, and each run a turn', async () => {
    const { text, spans } = await ran();
    const { scenario, unfinished, skipped } = importSpans(text, { isReadOnly: proven });
    expect({ unfinished, skipped }).toEqual({ unfinished: 0, skipped: 0 });
    const { batches } = checkScenario(scenario);
    const byTurn = [...new Set(batches.map(({ turn }) => turn))].map((turn) =>
      batches.filter((batch) => batch.turn === turn),
    );
    // Calls side by side may begin in the same millisecond.
    const said = byTurn.map((calls) => calls.map(({ tool, kind }) => `${tool} ${kind}`).sort());
    expect(said).toEqual([['bash destructive', 'bash read_only', 'fails destructive'], ['bash destructive']]);
    const millis = ([seconds, nanos]: [number, number]) => seconds * 1000 + Math.floor(nanos / 1e6);
    const times = spans
      .filter(({ name }) => /^(ai\.toolCall$|execute_tool )/.test(name))
      .map(({ startTime, endTime }) => [millis(startTime), millis(endTime)] as const)
      .sort(([start], [other]) => start - other);
    const [origin = 0] = times[0] ?? [];
    expect(batches.map(({ startMs }) => startMs)).toEqual(times.map(([start]) => start - origin));
    expect(batches.map(({ durationMs }) => durationMs).sort()).toEqual(times.map(([start, end]) => end - start).sort());
    for (const { sandbox } of batches) expect(sandbox).toMatch(/^unknown_service/);
  });

  it('sandbox and turn are the guard’s own, where it was asked within the call', async () => {
    const guard = createGuard({ driver: prompt(), enabled: () => true });
    const turnId = (_: unknown, options: unknown) =>
      (options as { toolCallId: string }).toolCallId === '4' ? 'b' : 'a';
    const { text } = await ran((tools) => wrapTools(tools, { guard, sandboxId: 'box', turnId }));
    const { batches } = importSpans(text).scenario;
    expect(batches.map(({ sandbox, turn }) => [sandbox, turn])).toEqual([
      ['box', 'a'],
      ['box', 'a'],
      ['box', 'a'],
      ['box', 'b'],
    ]);
  });
});

describe('the conventions for generative AI', () => {
  /** Spans within one another: `[name, attributes, children]`. */
  type Tree = [name: string, attributes: Record<string, string>, ...children: Tree[]];

  function sentOf(...trees: Tree[]) {
    const { tracer, sent } = tracing();
    const grow = ([name, attributes, ...children]: Tree, around = context.active()) => {
      const span = tracer.startSpan(name, { attributes }, around);
      for (const child of children) grow(child, trace.setSpan(around, span));
      span.end();
    };
    for (const tree of trees) grow(tree);
    return sent();
  }
  const tool = (name: string, more: Record<string, string> = {}): Tree => [
    `execute_tool ${name}`,
    { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name, ...more },
  ];
  const agent = (...children: Tree[]): Tree => [
    'invoke_agent a',
    { 'gen_ai.operation.name': 'invoke_agent' },
    ...children,
  ];

  it('the outermost run is the turn, whatever is around it and within', () => {
    const inner: Tree = [...tool('delegate'), agent(tool('inner'))] as Tree;
    const text = sentOf(['POST /chat', {}, agent(tool('one'), inner), agent(tool('two'))], ['job', {}, tool('three')]);
    const byTool = Object.fromEntries(importSpans(text).scenario.batches.map(({ tool, turn }) => [tool, turn]));
    expect(Object.keys(byTool)).toHaveLength(5);
    expect([byTool.delegate, byTool.inner]).toEqual([byTool.one, byTool.one]);
    expect(byTool.two).not.toBe(byTool.one);
    expect(byTool.three).toMatch(/^[0-9a-f]{32}$/);
  });

  it('the sandbox is the attribute that is named, else the conversation', () => {
    const text = sentOf([
      'POST /chat',
      { 'gen_ai.conversation.id': 'c1', 'app.workspace': 'w1' },
      tool('one'),
      tool('two', { 'app.workspace': 'w2' }),
    ]);
    const sandboxes = (options = {}) => importSpans(text, options).scenario.batches.map(({ sandbox }) => sandbox);
    expect(sandboxes()).toEqual(['c1', 'c1']);
    expect(sandboxes({ sandboxAttribute: 'app.workspace' }).sort()).toEqual(['w1', 'w2']);
    expect(sandboxes({ sandboxAttribute: 'none' })).toEqual(['c1', 'c1']);
  });

  it('a list, or one on each line as the collector writes them; what is sent twice counts once; bad lines are counted', () => {
    const [one, two] = [sentOf(agent(tool('one'))), sentOf(agent(tool('two')))];
    expect(importSpans(`[${one},${two}]`).scenario.batches).toHaveLength(2);
    const text = ['\uFEFFhello', one, '{}', two, one, '', two.slice(0, 50)].join('\n');
    const { scenario, skipped, skippedParts } = importSpans(text);
    expect(scenario.batches.map(({ tool }) => tool).sort()).toEqual(['one', 'two']);
    expect({ skipped, skippedParts }).toEqual({
      skipped: 3,
      skippedParts: [
        { line: 1, reason: 'it is no JSON' },
        { line: 3, reason: 'it holds no spans of OTLP (resourceSpans)' },
        { line: 7, reason: 'it is no JSON' },
      ],
    });
  });

  it('a span that has not ended lasts as long as its trace; one without a beginning is skipped; a circle ends', () => {
    const request = JSON.parse(sentOf(agent(tool('one'), tool('two')), agent(tool('three'))));
    const spans: Record<string, unknown>[] = request.resourceSpans[0].scopeSpans[0].spans;
    const [one, two, run] = spans as [Record<string, unknown>, Record<string, unknown>, Record<string, unknown>];
    Object.assign(one, { startTimeUnixNano: '5000000000', endTimeUnixNano: '0' });
    Object.assign(two, { startTimeUnixNano: 'soon' });
    Object.assign(run, { startTimeUnixNano: '5000000000', endTimeUnixNano: '7000000000', parentSpanId: one.spanId });
    const { scenario, unfinished, skipped, skippedParts } = importSpans(JSON.stringify(request));
    expect(scenario.batches[0]).toMatchObject({ tool: 'one', startMs: 0, durationMs: 2000, turn: run.spanId });
    expect(scenario.batches).toHaveLength(2);
    expect({ unfinished, skipped }).toEqual({ unfinished: 1, skipped: 1 });
    expect(skippedParts[0]?.reason).toBe('a span has no id, no trace or no beginning');
  });

  it('without any call it is an error that says so', () => {
    for (const text of [
      '',
      'null',
      '{"resourceSpans":[]}',
      sentOf(agent()),
      '{"resourceSpans":[{"scopeSpans":[{"spans":[{}]}]}]}',
    ]) {
      expect(() => importSpans(text)).toThrow(
        expect.objectContaining({
          code: 'INVALID_ARGUMENT',
          message: expect.stringMatching(/^there is no tool call in this text: pass/),
        }),
      );
    }
  });

  it('a proof that throws, or says anything but true, proves nothing', () => {
    const text = sentOf(tool('one', { 'gen_ai.tool.call.arguments': '{"a":1}' }));
    const kind = (own: (tool: string, input: unknown) => boolean) =>
      importSpans(text, { isReadOnly: own }).scenario.batches[0]?.kind;
    expect(kind((name, input) => name === 'one' && (input as { a: number }).a === 1)).toBe('read_only');
    expect(kind(() => 1 as never)).toBe('destructive');
    expect(
      kind(() => {
        throw new Error('no');
      }),
    ).toBe('destructive');
  });
});
