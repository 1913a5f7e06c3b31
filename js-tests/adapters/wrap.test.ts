// G11, X3: what wrapTools keeps of a tool, what it refuses, and which calls it takes for one run where no SDK makes the messages.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { wrapTools } from 'turnback/ai';
import { describe, expect, it } from 'vitest';
import { recordingGuard, rejection } from '../bash/support.js';

type Execute = (input: unknown, options?: unknown) => Promise<unknown>;

/** A tool that gives back what it got, and the turns that the guard was asked for. */
function stage(options: { turnId?: (input: unknown, options: unknown) => string | undefined } = {}) {
  const { guard, asked } = recordingGuard();
  const wrap = <T extends object>(tools: T): T => wrapTools(tools, { guard, sandboxId: 'w', ...options });
  const { echo } = wrap({ echo: { execute: (async (input) => input) as Execute } });
  const turns = () => new Set(asked.map(({ turnId }) => turnId)).size;
  return { guard, asked, wrap, call: echo.execute, turns };
}

const user = { role: 'user', content: 'go on' };
const made = (input: unknown) => ({
  role: 'assistant',
  content: [
    { type: 'text', text: 'so' },
    { type: 'tool-call', input },
  ],
});
const result = { role: 'tool', content: [{ type: 'tool-result', output: {} }] };

describe('X3, X5: an adapter', () => {
  it.each(['ai', 'mcp', 'openai-agents', 'plain'])(
    'turnback/%s is one file that loads no other: no SDK, no native code',
    (name) => {
      const file = createRequire(import.meta.url).resolve(`turnback/${name}`);
      expect(readFileSync(file, 'utf8')).not.toMatch(/\bfrom\s*["'`]|\bimport\b|\brequire\(/);
    },
  );
});

describe('G11: the turn of a call', () => {
  it('calls that come with the same messages are one turn', async () => {
    const { call, turns } = stage();
    const messages = [user];
    await Promise.all([call({}, { messages }), call({}, { messages })]);
    expect(turns()).toBe(1);
  });

  it('so are those of the steps that follow, also after calls of other tools and ones with broken input', async () => {
    const { call, turns } = stage();
    const [first, last] = [{ n: 1 }, { n: 3 }];
    await call(first, { messages: [user] });
    const messages = [user, made(first), result, made('{broken'), result];
    await call(last, { messages });
    await call({}, { messages: [...messages, made(last), result] });
    expect(turns()).toBe(1);
  });

  it('what the user says begins another', async () => {
    const { call, turns } = stage();
    const input = {};
    await call(input, { messages: [user] });
    await call({}, { messages: [user, made(input), result, user] });
    expect(turns()).toBe(2);
  });

  it('two that go on from the same call are two: only one of them can be its run', async () => {
    const { call, turns } = stage();
    const input = {};
    await call(input, { messages: [user] });
    const messages = [user, made(input), result];
    await call({}, { messages: [...messages] });
    await call({}, { messages: [...messages] });
    expect(turns()).toBe(2);
  });

  it('a call that is made again is another run, with the same messages or a copy of them', async () => {
    const { call, turns } = stage();
    const [input, messages] = [{}, [user]];
    await call(input, { messages });
    await call(input, { messages });
    await call(input, { messages: [...messages, made(input)] });
    expect(turns()).toBe(3);
  });

  it('without messages, or with the same none, each call is a turn', async () => {
    const { call, turns } = stage();
    const messages: unknown[] = [];
    await call({});
    await call({}, null);
    await call({}, { messages });
    await call({}, { messages });
    await call('text', { messages: 'none' });
    expect(turns()).toBe(5);
  });

  it('an array that grows with the conversation is not the same again', async () => {
    const { call, turns } = stage();
    const messages: unknown[] = [user];
    await call('a', { messages });
    messages.push({ role: 'assistant', content: 'done' }, { ...user });
    await call('b', { messages });
    messages.splice(0, messages.length, user, user, { ...user });
    await call('c', { messages });
    expect(turns()).toBe(3);
  });

  it('messages of any shape name no run and break nothing', async () => {
    const { call, turns } = stage();
    const odd = [null, 1, {}, { role: 'assistant' }, { role: 'assistant', content: [null, 1, { input: 1 }] }];
    for (const message of odd) await call(1, { messages: [message] });
    expect(turns()).toBe(odd.length);
  });

  it('two sets of tools in one run, and a tool that is wrapped twice, share the turn', async () => {
    const { wrap, call, turns, asked } = stage();
    const other = wrap(wrap({ other: { execute: (async (input) => input) as Execute } }));
    const messages = [user];
    await call({}, { messages });
    await other.other.execute({}, { messages });
    expect(turns()).toBe(1);
    expect(asked).toHaveLength(3);
  });

  it('an id that is said wins: first that of turnId, then that of the context', async () => {
    const { call, asked } = stage({ turnId: (input) => (input as { turn?: string }).turn });
    const messages = [user];
    await call({ turn: 'said' }, { messages, context: { turnId: 'context' } });
    await call({}, { messages, context: { turnId: 'context' } });
    await call({}, { messages, experimental_context: { turnId: 'experimental' } });
    await call({}, { messages, context: { turnId: '' } });
    expect(asked.map(({ turnId }) => turnId).slice(0, 3)).toEqual(['said', 'context', 'experimental']);
    expect(asked[3]?.turnId).toMatch(/^turn-/);
  });
});

describe('X3: a wrapped tool', () => {
  it('keeps all that the tool has, and leaves the tool as it was', async () => {
    const { wrap } = stage();
    class Counter {
      #count = 0;
      description = 'counts';
      get size() {
        return this.#count;
      }
      async execute() {
        this.#count += 1;
        return this.#count;
      }
    }
    const key = Symbol('key');
    const counter = new Counter();
    const plain = Object.freeze({
      description: 'plain',
      inputSchema: { jsonSchema: {} },
      needsApproval: true,
      [key]: 1,
      get late() {
        return 'later';
      },
      execute: async () => 'ran',
    });
    const tools = Object.freeze({ counter, plain, none: undefined });
    const wrapped = wrap(tools);
    expect(wrapped).not.toBe(tools);
    expect(Object.keys(wrapped)).toEqual(['counter', 'plain', 'none']);
    const { execute, ...rest } = wrapped.plain;
    expect(rest).toEqual({
      description: 'plain',
      inputSchema: plain.inputSchema,
      needsApproval: true,
      [key]: 1,
      late: 'later',
    });
    expect(execute).not.toBe(plain.execute);
    expect(wrapped.counter).toBeInstanceOf(Counter);
    expect(await wrapped.counter.execute()).toBe(1);
    expect(counter.size).toBe(1);
  });

  it('is asked which sandbox it works in, call by call; if that throws, the tool does not run', async () => {
    const { guard, asked } = recordingGuard();
    let ran = 0;
    const sandboxId = (input: unknown) => {
      if (input === 'nowhere') throw new RangeError('no sandbox');
      return `box-${input}`;
    };
    const { t } = wrapTools({ t: { execute: (async () => ++ran) as Execute } }, { guard, sandboxId });
    await t.execute(1);
    expect(await rejection(t.execute('nowhere'))).toBeInstanceOf(RangeError);
    expect(asked.map((batch) => batch.sandboxId)).toEqual(['box-1']);
    expect(ran).toBe(1);
  });

  it('does not run and asks nothing when the run is already cancelled', async () => {
    const { call, asked } = stage();
    const reason = new Error('enough');
    expect(await rejection(call({}, { messages: [user], abortSignal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(asked).toEqual([]);
  });

  it('INVALID_ARGUMENT for what can never be right: nothing stays unguarded by mistake', () => {
    const { guard } = recordingGuard();
    const tool = { description: 'one tool', execute: async () => {} };
    const refused = (tools: unknown, options: unknown) => () => wrapTools(tools as object, options as never);
    const right = { guard, sandboxId: 'w' };
    for (const [tools, options, words] of [
      [tool, right, /tools\["description"\] is no tool/],
      [[tool], right, /tools is no set of tools/],
      [null, right, /tools is no set of tools/],
      [{ tool }, { sandboxId: 'w' }, /options\.guard is missing/],
      [{ tool }, { guard }, /options\.sandboxId is missing/],
      [{ tool }, { guard: {}, sandboxId: 'w' }, /options\.guard is no guard/],
      [{ tool }, { guard, sandboxId: 7 }, /options\.sandboxId is neither a text nor a function/],
      [{ tool }, { guard, sandboxId: 'w', turnId: 't' }, /options\.turnId is a value of type string/],
      [{ tool }, { guard, sandboxid: 'w' }, /options has no "sandboxid"/],
      [{ tool }, undefined, /options/],
    ] as const) {
      expect(refused(tools, options)).toThrowError(
        expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringMatching(words) }),
      );
    }
  });
});
