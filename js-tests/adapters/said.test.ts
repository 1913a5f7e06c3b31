// G5, G11, X3: what a caller's functions and a host say of a call. A guard that is asked with what can never be right makes no checkpoint, so
// that a mistake there would leave every call without one, in silence.
import { createGuard } from 'turnback';
import { wrapTools } from 'turnback/ai';
import { guardHooks } from 'turnback/claude-agent-sdk';
import { guardCallTool, guardTool } from 'turnback/mcp';
import { guardExecute } from 'turnback/openai-agents';
import { guardFunction } from 'turnback/plain';
import { describe, expect, it } from 'vitest';
import { recordingGuard, rejection } from '../bash/support.js';

type Guarding = ReturnType<typeof recordingGuard>['guard'];
type Options = { guard: Guarding; sandboxId: unknown; turnId?: unknown; signal?: unknown };
type Tool = (options: never, work: () => void) => (...args: unknown[]) => Promise<unknown>;

/** Each adapter around something that works. */
const ADAPTERS: [string, Tool][] = [
  ['wrapTools', (options, work) => wrapTools({ tool: { execute: work } }, options).tool.execute as never],
  ['guardExecute', (options, work) => guardExecute(work, options) as never],
  ['guardTool', (options, work) => guardTool(work, options) as never],
  ['guardCallTool', (options, work) => guardCallTool({ callTool: async () => work() }, options) as never],
  ['guardFunction', (options, work) => guardFunction(work, options) as never],
];

function tool(make: Tool, options: Omit<Options, 'guard'>) {
  const { guard, asked } = recordingGuard();
  let ran = 0;
  const call = make({ guard, ...options } as never, () => {
    ran += 1;
  });
  return { call, asked, ran: () => ran };
}

const INVALID = expect.objectContaining({ code: 'INVALID_ARGUMENT' });
const LONG = 'x'.repeat(201);

describe.each(ADAPTERS)('%s', (_, make) => {
  it.each([
    ['a promise', Promise.resolve('w')],
    ['a number', 7],
    ['undefined', undefined],
    ['null', null],
    ['nothing', ''],
    ['too much', LONG],
  ])('a sandboxId that is %s is the error of the tool, which does not run', async (_, given) => {
    const { call, asked, ran } = tool(make, { sandboxId: () => given });
    expect(await rejection(call({}, {}))).toEqual(INVALID);
    expect([asked.length, ran()]).toEqual([0, 0]);
  });

  it.each([
    ['a promise', Promise.resolve('t')],
    ['a number', 7],
    ['null', null],
    ['nothing', ''],
  ])('so is a turnId that is %s', async (_, given) => {
    const { call, asked, ran } = tool(make, { sandboxId: 'w', turnId: () => given });
    expect(await rejection(call({}, {}))).toEqual(INVALID);
    expect([asked.length, ran()]).toEqual([0, 0]);
  });

  it('one that is undefined is unknown; text that can be no id is another one, the same for the same text', async () => {
    const said = [undefined, LONG, LONG, `${LONG}y`, '\ud800', '\udfff'];
    const { call, asked } = tool(make, { sandboxId: 'w', turnId: () => said.shift() });
    for (let n = 0; n < 6; n += 1) await call({}, {});
    const [, first, second, ...others] = asked.map(({ turnId }) => turnId);
    expect(first).toMatch(/^sha256-[0-9a-f]{64}$/);
    expect(second).toBe(first);
    expect(new Set([first, ...others]).size).toBe(4);
  });

  it('a promise that rejects is the error of the tool, and no more', async () => {
    const failing = () => Promise.reject(new Error('no database'));
    for (const options of [{ sandboxId: failing }, { sandboxId: 'w', turnId: failing }]) {
      expect(await rejection(tool(make, options).call({}, {}))).toEqual(INVALID);
    }
    // Nobody else heard of it: Vitest would report it.
    await new Promise(setImmediate);
  });

  it('a sandboxId that can never be right is refused when something is wrapped', () => {
    for (const sandboxId of ['', LONG, 'a\nb']) expect(() => tool(make, { sandboxId })).toThrowError(INVALID);
  });

  it.each([
    ['text', 'x'],
    ['null', null],
    ['an object', {}],
    ['half a signal', { aborted: false }],
  ])('a signal of the host that is %s is none: it may be the tool’s own argument', async (_, signal) => {
    const { call, asked, ran } = tool(make, { sandboxId: 'w' });
    const host = { signal, abortSignal: signal };
    for (const args of [[host], [{}, host], [{}, {}, host]]) await call(...args);
    expect([asked.length, ran()]).toEqual([3, 3]);
    expect(asked.map((batch) => batch.signal)).toEqual([undefined, undefined, undefined]);
  });
});

it('guardFunction: a signal that is none is the error of the call', async () => {
  const { guard } = recordingGuard();
  const call = guardFunction(() => {}, { guard, sandboxId: 'w', signal: () => 'x' as never });
  expect(await rejection(call())).toEqual(INVALID);
});

it('guardHooks: denied with the reason', async () => {
  const { guard, asked } = recordingGuard();
  for (const options of [{ sandboxId: async () => 'w' }, { sandboxId: 'w', turnId: () => 7 }]) {
    const hook = guardHooks({ guard, ...options } as never).PreToolUse[0]?.hooks[0];
    const answer = await hook?.({ hook_event_name: 'PreToolUse', tool_name: 'Bash' }, undefined, {} as never);
    expect(answer).toMatchObject({
      hookSpecificOutput: {
        permissionDecision: 'deny',
        permissionDecisionReason: expect.stringContaining('pass a string'),
      },
    });
  }
  expect(asked).toEqual([]);
});

it.each([
  ['wrapTools', ADAPTERS[0]?.[1], (context: object) => [{}, { experimental_context: context }]],
  ['guardExecute', ADAPTERS[1]?.[1], (context: object) => [{}, { context }]],
] as [string, Tool, (context: object) => unknown[]][])(
  '%s: a turn in the run’s context that is too long for an id is protected, once (G2)',
  async (_, make, args) => {
    let made = 0;
    const createCheckpoint = async () => {
      made += 1;
      return { checkpointId: `c${made}` };
    };
    const guard = createGuard({ enabled: () => true, driver: { createCheckpoint } });
    const call = make({ guard, sandboxId: 'w' } as never, () => {});
    for (const turnId of [LONG, LONG, '\ud800']) await call(...args({ turnId }));
    expect(made).toBe(2);
  },
);
