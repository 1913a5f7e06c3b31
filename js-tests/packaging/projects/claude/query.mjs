// A program as a user of the Claude Agent SDK writes it: one session, one prompt after the other.
import { query } from '@anthropic-ai/claude-agent-sdk';
import { CheckpointManager, createGuard, localDriver } from 'turnback';
import { guardHooks } from 'turnback/claude-agent-sdk';

const { workspace, store, prompts, guard: options, closed } = JSON.parse(process.argv[2]);
const manager = await CheckpointManager.open({ store });
const guard = createGuard({ driver: localDriver(manager, workspace), enabled: () => true, ...options });
if (closed) await manager.close();

const seen = { prompts: [], asked: [], results: [] };
const guarding = guardHooks({ guard, sandboxId: 'project' });
const hooks = {
  ...guarding,
  UserPromptSubmit: [
    ...guarding.UserPromptSubmit,
    {
      hooks: [
        async ({ prompt_id }) => {
          seen.prompts.push(prompt_id);
          return {};
        },
      ],
    },
  ],
};

/** Asked after the hooks. */
async function canUseTool(name, input) {
  seen.asked.push(name);
  if (JSON.stringify(input).includes('forbidden')) return { behavior: 'deny', message: 'the user said no' };
  return { behavior: 'allow', updatedInput: input };
}

let answered = () => {};
async function* asked() {
  for (const content of prompts) {
    const over = new Promise((resolve) => {
      answered = resolve;
    });
    yield { type: 'user', message: { role: 'user', content }, parent_tool_use_id: null };
    await over;
  }
}

for await (const message of query({
  prompt: asked(),
  options: { cwd: workspace, hooks, canUseTool, settingSources: [] },
})) {
  if (message.type !== 'result') continue;
  seen.results.push(message.subtype);
  answered();
}
if (!closed) await manager.close();
console.log(JSON.stringify(seen));
