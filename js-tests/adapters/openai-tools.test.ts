// G1, G11, X3: the OpenAI Agents SDK's own tools for a shell and for patches, with its runner and its scripted model.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, applyPatchTool, Runner, shellTool } from '@openai/agents-core';
import { assistantMessage, ScriptedModel } from '@openai/agents-core/testing';
import { createGuard, localDriver, runBash } from 'turnback';
import { guardApplyPatchTool, guardShellTool } from 'turnback/openai-agents';
import { expect, it } from 'vitest';
import { recordingGuard } from '../bash/support.js';
import { scene } from '../node/support.js';

const runner = new Runner({ tracingDisabled: true });
let calls = 0;
const shell = (command: string) => ({
  type: 'shell_call' as const,
  callId: `call-${++calls}`,
  status: 'completed' as const,
  action: { commands: [command] },
});
const patch = (path: string) => ({
  type: 'apply_patch_call' as const,
  callId: `call-${++calls}`,
  status: 'completed' as const,
  operation: { type: 'create_file' as const, path, diff: '+new' },
});
/** Two steps with two calls each. */
const script = () =>
  new ScriptedModel([
    [shell('echo 1 > one'), patch('two')],
    [patch('three'), shell('echo 4 > four')],
    [assistantMessage('done')],
  ]);

async function stage(options: { needsApproval?: boolean; when?: 'unless_read_only' } = {}) {
  const { manager, workspace } = await scene();
  const { when } = options;
  const driver = localDriver(manager, workspace);
  const guard = createGuard({
    driver,
    enabled: () => true,
    timeoutMs: 60_000,
    ...(when === undefined ? {} : { when }),
  });
  const ran: string[] = [];
  const write = async ({ path }: { path: string }) => {
    ran.push(path);
    mkdirSync(workspace, { recursive: true });
    writeFileSync(join(workspace, path), 'new');
    return { status: 'completed' as const };
  };
  const tools = [
    guardShellTool(
      shellTool({
        needsApproval: options.needsApproval ?? false,
        shell: {
          async run({ commands }) {
            ran.push(...commands);
            const { stdout, stderr } = await runBash({ sandbox: workspace, command: commands.join('\n') });
            return { output: [{ stdout, stderr, outcome: { type: 'exit', exitCode: 0 } }] };
          },
        },
      }),
      { guard, sandboxId: 'w' },
    ),
    guardApplyPatchTool(applyPatchTool({ editor: { createFile: write, updateFile: write, deleteFile: write } }), {
      guard,
      sandboxId: 'w',
    }),
  ];
  const agent = (model: ScriptedModel) => new Agent({ name: 'worker', model, tools });
  const made = async () => (await manager.listCheckpoints()).filter(({ phase }) => phase === 'pre_batch');
  return { agent, made, ran };
}

it('one checkpoint for a run of two steps with two calls each; another run is another turn', async () => {
  const { agent, made, ran } = await stage();
  await runner.run(agent(script()), 'go on');
  expect([...ran].sort()).toEqual(['echo 1 > one', 'echo 4 > four', 'three', 'two']);
  expect(await made()).toHaveLength(1);
  await runner.run(agent(script()), 'go on');
  expect(await made()).toHaveLength(2);
});

it('an id in the context wins', async () => {
  const { agent, made } = await stage();
  for (const _ of [1, 2]) await runner.run(agent(script()), 'go on', { context: { turnId: 'mine' } });
  expect((await made()).map(({ metadata }) => metadata.turnId)).toEqual(['mine']);
});

it('G8: an action that waits for its approval costs nothing before, and belongs to its run afterwards', async () => {
  const { agent, made, ran } = await stage({ needsApproval: true });
  const worker = agent(new ScriptedModel([[shell('echo 1 > one')], [patch('two')], [assistantMessage('done')]]));
  const { state, interruptions } = await runner.run(worker, 'go on');
  expect([interruptions.length, await made()]).toEqual([1, []]);
  for (const asked of interruptions) state.approve(asked);
  await runner.run(worker, state);
  expect(ran).toEqual(['echo 1 > one', 'two']);
  expect(await made()).toHaveLength(1);
});

it('G14: an action whose commands only read needs none', async () => {
  const { agent, made, ran } = await stage({ when: 'unless_read_only' });
  await runner.run(agent(new ScriptedModel([[shell('ls')], [assistantMessage('done')]])), 'go on');
  expect([ran, await made()]).toEqual([['ls'], []]);
});

it('turnId wins, and what can never be right is INVALID_ARGUMENT', async () => {
  const { guard, asked } = recordingGuard();
  const options = { guard, sandboxId: 'w' };
  const tool = { shell: { run: async (_: never) => 'ran' }, needsApproval: () => false };
  await guardShellTool(tool, { ...options, turnId: () => 'said' }).shell.run({ commands: ['ls'] } as never);
  expect(asked).toMatchObject([{ turnId: 'said', command: ['ls'] }]);
  for (const wrong of [
    () => guardShellTool({ needsApproval: () => false }, options),
    () => guardShellTool(undefined as never, options),
    () => guardShellTool(tool, { guard } as never),
    () => guardApplyPatchTool({ editor: {} } as never, options),
    () => guardApplyPatchTool(undefined as never, options),
  ]) {
    expect(wrong).toThrowError(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  }
});
