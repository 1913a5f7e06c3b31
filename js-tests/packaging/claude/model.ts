// A server on the loopback that plays the model: it speaks the Messages API's stream, and knows what to answer to each prompt.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** One use of a tool. */
export interface Use {
  name: string;
  input: object;
}

/** What the model does for each prompt, known by its text: one answer after the other, each with its uses of tools, and then it is done. */
export type Script = Record<string, Use[][]>;

/** What the host says that became of a use of a tool. */
export interface Result {
  error: boolean;
  text: string;
}

interface Block {
  type: string;
  text?: string;
  content?: string | Block[];
  is_error?: boolean;
}

interface Message {
  role: string;
  content: string | Block[];
}

export class Model {
  readonly #server: Server;
  readonly #script: Script;
  readonly #begins: (prompt: string) => void;
  #ids = 0;
  /** Every request, in order. */
  readonly asked: string[] = [];
  /** What became of the uses of tools, by the prompt that they belong to. */
  readonly results = new Map<string, Result[]>();

  private constructor(script: Script, begins: (prompt: string) => void) {
    this.#script = script;
    this.#begins = begins;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  /** `begins` is called before the first answer to each prompt: no tool of it has run. */
  static async start(script: Script, begins: (prompt: string) => void): Promise<Model> {
    const model = new Model(script, begins);
    await new Promise<void>((resolve) => model.#server.listen(0, '127.0.0.1', resolve));
    return model;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.asked.push(`${request.method} ${request.url?.split('?')[0]}`);
    if (request.method !== 'POST') {
      response.writeHead(404).end();
      return;
    }
    const { messages = [], model } = (await json(request)) as { messages?: Message[]; model?: string };
    stream(response, String(model), this.#next(messages), () => {
      this.#ids += 1;
      return String(this.#ids);
    });
  }

  #next(messages: Message[]): Use[] {
    const said = messages.filter(({ role }) => role === 'user').map(({ content }) => blocks(content));
    const isPrompt = (message: Block[]) => this.#promptIn(message) !== undefined;
    const from = said.findLastIndex(isPrompt);
    const prompt = this.#promptIn(said[from] ?? []);
    if (prompt === undefined) return [];
    const answered = said.slice(from).map((message) => message.filter(({ type }) => type === 'tool_result'));
    const results = answered.flat().map((block) => ({ error: block.is_error === true, text: textOf(block) }));
    if (!this.results.has(prompt)) this.#begins(prompt);
    this.results.set(prompt, results);
    return this.#script[prompt]?.[answered.filter(({ length }) => length > 0).length] ?? [];
  }

  #promptIn(message: Block[]): string | undefined {
    const text = message.flatMap(({ type, text: said }) => (type === 'text' && said !== undefined ? [said] : []));
    return Object.keys(this.#script).find((prompt) => text.some((said) => said.includes(prompt)));
  }
}

const blocks = (content: string | Block[] | undefined): Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);

const textOf = ({ content }: Block): string =>
  blocks(content)
    .map(({ text }) => text ?? '')
    .join('\n');

function stream(response: ServerResponse, model: string, uses: Use[], newId: () => string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (type: string, more: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`);
  const empty = { type: 'message', role: 'assistant', model, content: [], stop_reason: null, stop_sequence: null };
  send('message_start', {
    message: { id: `msg_${newId()}`, ...empty, usage: { input_tokens: 1, output_tokens: 1 } },
  });
  const parts =
    uses.length === 0
      ? [{ start: { type: 'text', text: '' }, delta: { type: 'text_delta', text: 'Done.' } }]
      : uses.map(({ name, input }) => ({
          start: { type: 'tool_use', id: `toolu_${newId()}`, name, input: {} },
          delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) },
        }));
  for (const [index, { start, delta }] of parts.entries()) {
    send('content_block_start', { index, content_block: start });
    send('content_block_delta', { index, delta });
    send('content_block_stop', { index });
  }
  const stop_reason = uses.length === 0 ? 'end_turn' : 'tool_use';
  send('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } });
  send('message_stop', {});
  response.end();
}
