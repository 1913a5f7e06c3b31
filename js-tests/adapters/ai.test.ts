// G1, G4, G5, G6, G8, G11, G13, X3: the tools of the AI SDK with the engine's own checkpoints before them.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createGuard, type Driver, type GuardOptions, localDriver } from 'turnback';
import { wrapTools } from 'turnback/ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { deferred } from '../bash/support.js';
import { noUnhandledRejections } from '../guard/support.js';
import { picture, scene } from '../node/support.js';
import { type Message, type Run, type Sdk, type ToolCall, WAYS } from './sdks.js';

noUnhandledRejections();

/** A call of the tool `write`. */
const write = (file: string, text: string, id = file): ToolCall => ({ tool: 'write', input: { file, text }, id });

describe.each(WAYS)('%s', (_, sdk: Sdk, mode) => {
  /** A workspace, a guard of it, and tools that work in it, wrapped once. */
  async function stage(options: GuardOptions = {}, more: (workspace: string) => object = () => ({})) {
    const { manager, workspace } = await scene();
    const driver = localDriver(manager, workspace);
    const guard = createGuard({ driver, enabled: () => true, timeoutMs: 60_000, ...options });
    const ran: string[] = [];
    const tools = {
      write: sdk.tool({
        description: 'writes a file',
        inputSchema: z.object({ file: z.string(), text: z.string() }),
        execute: async ({ file, text }: { file: string; text: string }) => {
          ran.push(file);
          writeFileSync(join(workspace, file), text);
          return { wrote: file };
        },
      }),
      ...more(workspace),
    };
    const wrapped = wrapTools(tools, { guard, sandboxId: 'w' });
    const run = (given: Omit<Run, 'tools'>) => sdk.run(mode, { tools: wrapped, ...given });
    const checkpoints = async () =>
      (await manager.listCheckpoints()).filter(({ phase }) => phase === 'pre_batch').map((made) => made);
    const turns = async () => (await checkpoints()).map(({ metadata }) => metadata.turnId);
    return { manager, workspace, guard, tools, wrapped, ran, run, checkpoints, turns };
  }

  it('one checkpoint for a run of three steps with parallel calls, of the state before the first', async () => {
    const { manager, workspace, run, checkpoints, ran } = await stage();
    const before = picture(workspace);
    const { parts } = await run({
      steps: [[write('a.txt', '1'), write('b.txt', '2')], [write('a.txt', '3', 'c3')], [write('d.txt', '4')], 'done'],
    });
    expect(ran).toEqual(['a.txt', 'b.txt', 'a.txt', 'd.txt']);
    expect(parts.filter(({ type }) => type === 'tool-result').map(({ output }) => output)).toEqual(
      ran.map((file) => ({ wrote: file })),
    );
    const made = await checkpoints();
    expect(made).toHaveLength(1);
    await manager.rollbackTo(made[0]?.checkpointId as string);
    expect(picture(workspace)).toEqual(before);
  });

  it('G11: two runs at once over one wrapper are two turns, whatever they share', async () => {
    const { run, turns, ran } = await stage();
    const messages: Message[] = [{ role: 'user', content: 'the same' }];
    const context = { of: 'both' };
    const { signal: abortSignal } = new AbortController();
    const meet = together(2);
    const steps = [[write('a.txt', '1'), write('b.txt', '2')], [write('a.txt', '3', 'c3')], 'done'];
    const one = () => run({ messages, context, abortSignal, steps, before: meet });
    await Promise.all([one(), one()]);
    expect(ran).toHaveLength(6);
    const made = await turns();
    expect(made).toHaveLength(2);
    expect(new Set(made).size).toBe(2);
  });

  it('a run that goes on from the messages of another is a turn of its own', async () => {
    const { run, turns } = await stage();
    const messages: Message[] = [{ role: 'user', content: 'first' }];
    const first = await run({ messages, steps: [[write('a.txt', '1')], 'done'] });
    messages.push(...first.messages, { role: 'user', content: 'second' });
    await run({ messages, steps: [[write('a.txt', '2')], [write('b.txt', '3')], 'done'] });
    expect(new Set(await turns()).size).toBe(2);
    expect(await turns()).toHaveLength(2);
  });

  it('G11: an id in the context wins over the run', async () => {
    const { run, turns } = await stage();
    const one = () => run({ context: { turnId: 'mine' }, steps: [[write('a.txt', '1')], 'done'] });
    await one();
    await one();
    expect(await turns()).toEqual(['mine']);
  });

  it('G5: without a checkpoint the tool fails and does not run, with onFailure: block', async () => {
    const driver: Driver = { createCheckpoint: () => Promise.reject(new Error('no space')) };
    const { run, ran } = await stage({ driver, onFailure: 'block' });
    const { parts } = await run({ steps: [[write('a.txt', '1')], 'done'] });
    expect(parts.find(({ type }) => type === 'tool-error')?.error).toMatchObject({ code: 'CHECKPOINT_REQUIRED' });
    expect(ran).toEqual([]);
  });

  it('G5: and by default it runs', async () => {
    const driver: Driver = { createCheckpoint: () => Promise.reject(new Error('no space')) };
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const { run, ran } = await stage({ driver, logger });
    await run({ steps: [[write('a.txt', '1')], 'done'] });
    expect(ran).toEqual(['a.txt']);
  });

  it('a tool that throws has its own error, and its turn has one checkpoint', async () => {
    const failure = new Error('out of paper');
    const print = () => ({
      print: sdk.tool({ inputSchema: z.object({}), execute: () => Promise.reject(failure) }),
    });
    const { run, turns } = await stage({}, print);
    const steps = [[{ tool: 'print', input: {}, id: 'p' }], [write('a.txt', '1')], 'done'];
    const { parts } = await run({ steps });
    expect(parts.find(({ type }) => type === 'tool-error')?.error).toBe(failure);
    expect(await turns()).toHaveLength(1);
  });

  it('F29: a run that is cancelled during its checkpoint runs no tool, and gives the slot back', async () => {
    const [asked, made] = [deferred<void>(), deferred<void>()];
    const comments: string[] = [];
    const driver: Driver = {
      async createCheckpoint({ comment }) {
        comments.push(comment);
        asked.resolve();
        await made.promise;
        return { checkpointId: `c${comments.length}` };
      },
    };
    const { run, ran, guard } = await stage({ driver });
    const controller = new AbortController();
    const running = run({
      context: { turnId: 't' },
      abortSignal: controller.signal,
      steps: [[write('a.txt', '1')], 'done'],
    }).catch((error: unknown) => error);
    await asked.promise;
    controller.abort(new Error('enough'));
    await running;
    made.resolve();
    expect(ran).toEqual([]);
    // The slot is free: the turn gets a checkpoint of the state right before its next batch, and it is not late.
    await new Promise(setImmediate);
    expect(await guard.beforeBatch({ sandboxId: 'w', turnId: 't' })).toMatchObject({ outcome: 'created', late: false });
    expect(comments).toHaveLength(2);
  });

  it('tools without execute stay as they are and cost nothing', async () => {
    const ask = sdk.tool({ description: 'asks', inputSchema: z.object({}) });
    const { wrapped, tools, run, checkpoints } = await stage({}, () => ({ ask }));
    expect((wrapped as unknown as { ask: unknown }).ask).toBe((tools as unknown as { ask: unknown }).ask);
    const { parts } = await run({ steps: [[{ tool: 'ask', input: {}, id: 'q' }]] });
    expect(parts.map(({ type }) => type)).toContain('tool-call');
    expect(await checkpoints()).toEqual([]);
  });

  it('an async generator stays one: what it yields on the way arrives, after the checkpoint', async () => {
    const chop = (workspace: string) => ({
      chop: sdk.tool({
        inputSchema: z.object({}),
        async *execute() {
          rmSync(join(workspace, 'a.txt'));
          yield 'chopping';
          yield 'chopped';
        },
      }),
    });
    const { run, checkpoints, manager } = await stage({}, chop);
    const { parts } = await run({ steps: [[{ tool: 'chop', input: {}, id: 'x' }], 'done'] });
    const results = parts.filter(({ type }) => type === 'tool-result');
    expect(results.at(-1)?.output).toBe('chopped');
    if (mode === 'streamText') {
      expect(results.map(({ preliminary, output }) => [preliminary === true, output])).toEqual([
        [true, 'chopping'],
        [true, 'chopped'],
        [false, 'chopped'],
      ]);
    }
    const [made] = await checkpoints();
    expect(String(await manager.readFile(made?.checkpointId as string, 'a.txt'))).toBe('one\n');
  });

  it('a function that returns an async iterable gives what that yielded last', async () => {
    const chop = () => ({
      chop: sdk.tool({
        inputSchema: z.object({}),
        execute: () =>
          (async function* () {
            yield 'chopping';
            yield 'chopped';
          })(),
      }),
    });
    const { run } = await stage({}, chop);
    const { parts } = await run({ steps: [[{ tool: 'chop', input: {}, id: 'x' }], 'done'] });
    expect(parts.filter(({ type }) => type === 'tool-result').map(({ output }) => output)).toEqual(['chopped']);
  });

  // Version 5 has no approvals.
  if (sdk.version > 5) {
    describe.each([[false], [true]])('G8: an approval that says %s', (approved) => {
      it(approved ? 'costs one checkpoint, before the tool' : 'costs no checkpoint', async () => {
        const needed = (workspace: string) => ({
          drop: sdk.tool({
            inputSchema: z.object({}),
            needsApproval: true,
            execute: async () => rmSync(join(workspace, 'a.txt')),
          }),
        });
        const { run, checkpoints, workspace, manager } = await stage({}, needed);
        const messages: Message[] = [{ role: 'user', content: 'drop it' }];
        const first = await run({ messages, steps: [[{ tool: 'drop', input: {}, id: 'd' }]] });
        const approvalId = first.parts.find(({ type }) => type === 'tool-approval-request')?.approvalId;
        expect(approvalId).toBeTypeOf('string');
        expect(await checkpoints()).toEqual([]);
        messages.push(...first.messages, {
          role: 'tool',
          content: [{ type: 'tool-approval-response', approvalId, approved }],
        });
        await run({ messages, steps: [approved ? [write('b.txt', '1')] : 'a pity', 'done'] });
        const made = await checkpoints();
        expect(made).toHaveLength(approved ? 1 : 0);
        if (!approved) expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('one\n');
        for (const { checkpointId } of made) {
          expect(String(await manager.readFile(checkpointId, 'a.txt'))).toBe('one\n');
        }
      });
    });
  }
});

/** Lets nobody on to a step before `count` have come to it. */
function together(count: number): (step: number) => Promise<void> {
  const steps = new Map<number, { waiting: number; all: ReturnType<typeof deferred<void>> }>();
  return (step) => {
    const at = steps.get(step) ?? { waiting: 0, all: deferred<void>() };
    steps.set(step, at);
    at.waiting += 1;
    if (at.waiting === count) at.all.resolve();
    return at.all.promise;
  };
}
