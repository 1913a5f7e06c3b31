// The real AI SDK in its versions 5, 6 and 7, with the mock models that come with each, behind one set of words.
import * as ai5 from 'ai5';
import * as test5 from 'ai5/test';
import * as ai6 from 'ai6';
import * as test6 from 'ai6/test';
import * as ai7 from 'ai7';
import * as test7 from 'ai7/test';

/** One call of a tool that the model makes. */
export interface ToolCall {
  tool: string;
  input: object;
  id: string;
}

/** What the model says in one step: calls, or a text that ends the run. */
export type Step = ToolCall[] | string;

export interface Part {
  type: string;
  toolName?: string;
  toolCallId?: string;
  approvalId?: string;
  output?: unknown;
  error?: unknown;
  preliminary?: boolean;
}

/** What became of a run. */
export interface Ran {
  /** Everything that the tools gave, in all steps. */
  parts: Part[];
  /** To go on with. */
  messages: Message[];
}

export interface Message {
  role: string;
  content: unknown;
}

export interface Run {
  tools: object;
  steps: Step[];
  messages?: Message[];
  /** The context that tools get, in the words of each version. */
  context?: object;
  abortSignal?: AbortSignal;
  /** Awaited before each answer of the model. */
  before?: (step: number) => Promise<void>;
  /** Further options of the run, in the words of each version. */
  more?: object;
}

/** The versions differ in their types far more than in what is used here. */
interface Module {
  tool<T>(tool: T): T;
  generateText(options: object): Promise<Result>;
  streamText(options: object): Streamed;
  stepCountIs(steps: number): unknown;
}
interface Result {
  steps: { content: Part[] }[];
  response: { messages: Message[] };
}
interface Streamed {
  fullStream: AsyncIterable<Part>;
  response: PromiseLike<{ messages: Message[] }>;
}
interface Mocks {
  Model: new (model: object) => object;
  streamOf(parts: object[]): ReadableStream;
}

type Mode = 'generateText' | 'streamText';
const MODES: Mode[] = ['generateText', 'streamText'];

/** One version of the SDK. */
export class Sdk {
  readonly #ai: Module;
  readonly #mocks: Mocks;

  constructor(
    readonly version: 5 | 6 | 7,
    ai: unknown,
    mocks: Mocks,
  ) {
    this.#ai = ai as Module;
    this.#mocks = mocks;
  }

  tool<T>(tool: T): T {
    return this.#ai.tool(tool);
  }

  run(mode: Mode, run: Run): Promise<Ran> {
    return mode === 'generateText' ? this.#generate(run) : this.#stream(run);
  }

  async #generate(run: Run): Promise<Ran> {
    const { steps, response } = await this.#ai.generateText(this.#options(run));
    return { parts: steps.flatMap(({ content }) => content), messages: response.messages };
  }

  async #stream(run: Run): Promise<Ran> {
    const streamed = this.#ai.streamText({ ...this.#options(run), onError: () => {} });
    const parts: Part[] = [];
    for await (const part of streamed.fullStream) parts.push(part);
    const { messages } = await Promise.resolve(streamed.response).catch(() => ({ messages: [] }));
    return { parts, messages };
  }

  #options({
    tools,
    steps,
    messages = [{ role: 'user', content: 'go on' }],
    context,
    abortSignal,
    before,
    more,
  }: Run): object {
    let step = 0;
    const next = async () => {
      await before?.(step);
      const said = steps[step] ?? 'done';
      step += 1;
      return said;
    };
    const model = new this.#mocks.Model({
      doGenerate: async () => {
        const said = await next();
        const content = typeof said === 'string' ? [{ type: 'text', text: said }] : said.map(callPart);
        return { content, finishReason: this.#finish(said), usage: this.#usage(), warnings: [] };
      },
      doStream: async () => {
        const said = await next();
        const content = typeof said === 'string' ? textParts(said) : said.map(callPart);
        const end = { type: 'finish', finishReason: this.#finish(said), usage: this.#usage() };
        return { stream: this.#mocks.streamOf([{ type: 'stream-start', warnings: [] }, ...content, end]) };
      },
    });
    const byTool = Object.fromEntries(Object.keys(tools).map((name) => [name, context]));
    return {
      model,
      tools,
      messages,
      maxRetries: 0,
      ...more,
      stopWhen: this.#ai.stepCountIs(9),
      ...(abortSignal === undefined ? {} : { abortSignal }),
      ...(context === undefined
        ? {}
        : this.version === 7
          ? { toolsContext: byTool }
          : { experimental_context: context }),
    };
  }

  #finish(said: Step): unknown {
    const reason = typeof said === 'string' ? 'stop' : 'tool-calls';
    return this.version === 5 ? reason : { unified: reason, raw: reason };
  }

  #usage(): object {
    if (this.version === 5) return { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
    return { inputTokens: { total: 1, noCache: 1 }, outputTokens: { total: 1, text: 1 } };
  }
}

function callPart({ tool, input, id }: ToolCall): object {
  return { type: 'tool-call', toolCallId: id, toolName: tool, input: JSON.stringify(input) };
}

function textParts(text: string): object[] {
  return [
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: text },
    { type: 'text-end', id: '1' },
  ];
}

/** Their warnings are about the mock models. */
(globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;

const streamOf = (parts: object[]) => test5.convertArrayToReadableStream(parts);
const SDKS = [
  new Sdk(5, ai5, { Model: test5.MockLanguageModelV2 as never, streamOf }),
  new Sdk(6, ai6, { Model: test6.MockLanguageModelV3 as never, streamOf }),
  new Sdk(7, ai7, { Model: test7.MockLanguageModelV4 as never, streamOf }),
];

/** Every version with both ways to run it. */
export const WAYS = SDKS.flatMap((sdk) => MODES.map((mode) => [`AI SDK ${sdk.version}, ${mode}`, sdk, mode] as const));
