// Every entry of both packages, imported with its types in a project that checks them all.
import { type CheckpointManager, createGuard, isTurnbackError, type Sandbox, type Verdict } from 'turnback';
import { wrapTools } from 'turnback/ai';
import { guardHooks } from 'turnback/claude-agent-sdk';
import { guardTool } from 'turnback/mcp';
import { guardExecute } from 'turnback/openai-agents';
import { type Tracer, traceWith } from 'turnback/opentelemetry';
import { guardFunction } from 'turnback/plain';
import { openRecording, type Recording } from 'turnback/recording';
import { sandboxPerTest as forJest } from 'turnback/testing/jest';
import { sandboxPerTest as forNode } from 'turnback/testing/node-test';
import { sandboxFixtures as forPlaywright } from 'turnback/testing/playwright';
import { sandboxFixtures as forVitest } from 'turnback/testing/vitest';
import { checkpointComment, createGuard as portableGuard } from 'turnback-policy';
import { openGate } from 'turnback-policy/gate';
import { type Imported, importClaudeCode, importSpans } from 'turnback-policy/importers';
import { isReadOnly, judgeCommand } from 'turnback-policy/read-only';
import { parseScenario, type Scenario, simulate } from 'turnback-policy/simulate';

const guard = createGuard({});
const verdict: Promise<Verdict> = guard.beforeBatch({ sandboxId: 'a', turnId: 'b' });
const tools = wrapTools(
  { bash: { execute: async (input: { command: string }) => input.command } },
  { guard, sandboxId: 'a' },
);
const echoed: Promise<string> | string = tools.bash.execute({ command: 'ls' });
const guarded: Promise<number> = guardFunction((n: number) => n, { guard, sandboxId: 'a' })(1);
const comment: string = checkpointComment('turn');
const options = { resource: new URL('./fixture', import.meta.url), keepOnFailure: true } as const;

export async function use(manager: CheckpointManager, sandbox: Sandbox, t: Parameters<ReturnType<typeof forNode>>[0]) {
  const { checkpointId } = await manager.createCheckpoint(sandbox, 'plan', 'manual');
  const own = await forNode(options)(t);
  const test = forJest(options)(async (given, n: number) => given.path + n + own.path);
  const ran: Promise<void> = test(1);
  // @ts-expect-error: the text is a misspelt option
  forVitest({ resourse: 'fixture' });
  // @ts-expect-error: a mechanism that does not exist
  forPlaywright({ resource: 'fixture', mechanism: 'hope' });
  return { checkpointId, ran, wrong: (error: unknown) => (isTurnbackError(error) ? error.code : undefined) };
}

/** Everything that becomes a scenario. */
export async function scenarios(file: string): Promise<Scenario[]> {
  const recording: Recording = await openRecording({ file, anonymise: true });
  const batch = { sandboxId: 'a', turnId: 'b' };
  await createGuard({ recording }).beforeBatch(batch);
  recording.ended(batch);
  const { complete }: { complete: boolean } = await recording.close();
  const imported: Imported[] = [importClaudeCode(file, { isReadOnly: () => complete }), importSpans(file)];
  // @ts-expect-error: a guard of the browser records to no file
  portableGuard({ recording });
  return [parseScenario(file, { onDropped: ({ line }) => line }), ...imported.map(({ scenario }) => scenario)];
}
export const waited: number | undefined = simulate({ version: 1, batches: [] }).summaries[0]?.waiting.totalMs;

export const hooks: object = guardHooks({ guard, sandboxId: 'a' });
export const untrace = (tracer: Tracer): (() => void) => traceWith(tracer);
export const portable: [boolean, boolean] = [isReadOnly('ls'), judgeCommand('ls').readOnly];
export const gate: object = openGate({ timeoutMs: 10_000, prefix: undefined, digestKey: undefined });

export { comment, echoed, guardExecute, guarded, guardTool, portableGuard, verdict };
