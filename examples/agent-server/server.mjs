// An agent server: POST /run lets a model work on a directory with a shell, POST /undo takes back what one of its turns did.
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { generateText, stepCountIs, tool } from 'ai';
import { checkpointComment, createGuard, isTurnbackError, localDriver, runBash } from 'turnback';
import { wrapTools } from 'turnback/ai';
import { z } from 'zod';

/** @param {{ manager: import('turnback').CheckpointManager, project: string, model: import('ai').LanguageModel }} options */
export function agentServer({ manager, project, model }) {
  const guard = createGuard({ driver: localDriver(manager, project) });
  const bash = tool({
    description: 'Runs a command in the project',
    inputSchema: z.object({ command: z.string() }),
    execute: async ({ command }, { abortSignal }) => {
      const { exitCode, stdout, stderr } = await runBash({ sandbox: project, command, signal: abortSignal });
      return { exitCode, stdout, stderr };
    },
  });
  // One wrapper for all requests: the turn comes with each run's own context.
  const tools = wrapTools({ bash }, { guard, sandboxId: project });

  /** @type {Record<string, (body: any) => Promise<object>>} */
  const routes = {
    async '/run'({ prompt, turnId }) {
      const context = { turnId };
      const { text } = await generateText({
        model,
        tools,
        prompt,
        stopWhen: stepCountIs(10),
        experimental_context: context,
      });
      return { turnId, text };
    },
    async '/undo'({ turnId }) {
      const all = await manager.listCheckpoints(await manager.sandboxIdOf(project));
      const before = all.findLast(({ metadata }) => metadata.comment === checkpointComment(turnId));
      if (before === undefined) return { error: `no checkpoint of turn ${turnId}` };
      const { restored, written, deleted } = await manager.rollbackTo(before);
      return { restored, written, deleted };
    },
  };

  return createServer(async (request, response) => {
    const route = routes[request.url ?? ''];
    try {
      const answer = route === undefined ? { error: 'no such path' } : await route(await json(request));
      response.writeHead('error' in answer ? 404 : 200).end(JSON.stringify(answer));
    } catch (error) {
      response.writeHead(500).end(JSON.stringify({ error: isTurnbackError(error) ? error.message : String(error) }));
    }
  });
}
