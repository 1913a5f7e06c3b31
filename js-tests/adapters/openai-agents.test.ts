// G11, G13, X3: tools of the OpenAI Agents SDK, with its runner and its scripted model.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, type RunContext, Runner, tool } from '@openai/agents-core';
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents-core/testing';
import { createGuard, localDriver } from 'turnback';
import { guardExecute } from 'turnback/openai-agents';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { recordingGuard, rejection } from '../bash/support.js';
import { scene } from '../node/support.js';

const runner = new Runner({ tracingDisabled: true });
const write = (file: string, callId = file) => functionCall('write', { file }, { callId });
const script = () =>
  new ScriptedModel([[write('a.txt'), write('b.txt')], [write('c.txt')], [assistantMessage('done')]]);

describe('guardExecute', () => {
  async function stage(needsApproval = false) {
    const { manager, workspace } = await scene();
    const guard = createGuard({ driver: localDriver(manager, workspace), enabled: () => true, timeoutMs: 60_000 });
    const ran: string[] = [];
    const writes = tool({
      name: 'write',
      description: 'writes a file',
      parameters: z.object({ file: z.string() }),
      needsApproval,
      execute: guardExecute(
        async ({ file }: { file: string }, _run?: RunContext) => {
          ran.push(file);
          writeFileSync(join(workspace, file), 'written');
          return 'ok';
        },
        { guard, sandboxId: 'w' },
      ),
    });
    const agent = (model: ScriptedModel) => new Agent({ name: 'writer', model, tools: [writes] });
    const made = async () => (await manager.listCheckpoints()).filter(({ phase }) => phase === 'pre_batch');
    return { manager, workspace, ran, agent, made };
  }

  it.each([false, true])('one checkpoint for a run of two steps with parallel calls, streamed: %s', async (stream) => {
    const { manager, ran, agent, made } = await stage();
    if (stream) await (await runner.run(agent(script()), 'go on', { stream: true })).completed;
    else await runner.run(agent(script()), 'go on');
    expect(ran).toEqual(['a.txt', 'b.txt', 'c.txt']);
    const [checkpoint, ...more] = await made();
    expect(more).toEqual([]);
    expect(String(await manager.readFile(checkpoint?.checkpointId as string, 'a.txt'))).toBe('one\n');
  });

  it('two runs at once with the same tool and the same context are two turns', async () => {
    const { agent, made, ran } = await stage();
    const context = { of: 'both' };
    await Promise.all([1, 2].map(() => runner.run(agent(script()), 'go on', { context })));
    expect(ran).toHaveLength(6);
    expect(new Set((await made()).map(({ metadata }) => metadata.turnId)).size).toBe(2);
    expect(await made()).toHaveLength(2);
  });

  it('an id in the context wins', async () => {
    const { agent, made } = await stage();
    for (const _ of [1, 2]) await runner.run(agent(script()), 'go on', { context: { turnId: 'mine' } });
    expect((await made()).map(({ metadata }) => metadata.turnId)).toEqual(['mine']);
  });

  it.each([false, true])('G8: a call that waits for approval costs nothing before, approved: %s', async (approve) => {
    const { agent, made, ran } = await stage(true);
    const writer = agent(new ScriptedModel([[write('a.txt')], [assistantMessage('done')]]));
    const { state, interruptions } = await runner.run(writer, 'go on');
    expect(interruptions).toHaveLength(1);
    expect(await made()).toEqual([]);
    for (const asked of interruptions) approve ? state.approve(asked) : state.reject(asked);
    await runner.run(writer, state);
    expect(await made()).toHaveLength(approve ? 1 : 0);
    expect(ran).toEqual(approve ? ['a.txt'] : []);
  });

  it('arguments that the tool refuses cost no checkpoint', async () => {
    const { agent, made, ran } = await stage();
    const broken = functionCall('write', '{"file":7}', { callId: 'x' });
    await runner.run(agent(new ScriptedModel([[broken], [assistantMessage('done')]])), 'go on');
    expect([await made(), ran]).toEqual([[], []]);
  });

  it('G5, F29: a refusal of the guard and a signal that fired are the tool’s error; it does not run', async () => {
    const refusal = new Error('no checkpoint');
    const { guard, asked } = recordingGuard(() => Promise.reject(refusal));
    let ran = 0;
    const execute = guardExecute((..._: unknown[]) => ++ran, { guard, sandboxId: 'w' });
    expect(await rejection(execute({}, {}, {}))).toBe(refusal);
    const reason = new Error('enough');
    expect(await rejection(execute({}, {}, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect([ran, asked.length]).toEqual([0, 1]);
  });

  it('without a run each call is a turn; turnId wins; wrong options are INVALID_ARGUMENT', async () => {
    const { guard, asked } = recordingGuard();
    const options = { guard, sandboxId: 'w' };
    const execute = guardExecute((..._: unknown[]) => 1, options);
    await execute({});
    await execute({});
    await guardExecute((..._: unknown[]) => 1, { ...options, turnId: (..._: unknown[]) => 'said' })(
      {},
      { context: { turnId: 'mine' } },
    );
    expect(new Set(asked.map(({ turnId }) => turnId)).size).toBe(3);
    expect(asked[2]?.turnId).toBe('said');
    for (const wrong of [() => guardExecute('x' as never, options), () => guardExecute(() => 1, { guard } as never)]) {
      expect(wrong).toThrowError(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    }
  });
});
