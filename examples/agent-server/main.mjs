// Starts the server on a directory of its own, asks it as a client does, and stops it.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockLanguageModelV3 } from 'ai/test';
import { CheckpointManager } from 'turnback';
import { agentServer } from './server.mjs';

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const calls = (...commands) => ({
  content: commands.map((command, n) => ({
    type: 'tool-call',
    toolCallId: `call-${n}`,
    toolName: 'bash',
    input: JSON.stringify({ command }),
  })),
  finishReason: { unified: 'tool-calls' },
  usage,
  warnings: [],
});
const text = (said) => ({
  content: [{ type: 'text', text: said }],
  finishReason: { unified: 'stop' },
  usage,
  warnings: [],
});
// Two calls at once, then one more, then an answer.
const model = new MockLanguageModelV3({
  doGenerate: [calls('rm -r src', 'echo oops > junk.txt'), calls('ls'), text('All tidy.')],
});

const home = mkdtempSync(join(tmpdir(), 'agent-server-'));
const project = join(home, 'project');
mkdirSync(join(project, 'src'), { recursive: true });
writeFileSync(join(project, 'src', 'main.c'), 'int x;\n');

const manager = await CheckpointManager.open({ store: 'ephemeral' });
const server = agentServer({ manager, project, model });
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const ask = async (path, body) => {
  const response = await fetch(`http://127.0.0.1:${server.address().port}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  return await response.json();
};

console.log('run:', await ask('/run', { prompt: 'Tidy up', turnId: 'turn-1' }));
const made = await manager.listCheckpoints(await manager.sandboxIdOf(project));
console.log('files:', readdirSync(project), 'checkpoints:', made.length);
console.log('undo:', await ask('/undo', { turnId: 'turn-1' }));
console.log('files:', readdirSync(project));
console.log('undo:', await ask('/undo', { turnId: 'turn-2' }));

server.close();
await manager.close();
rmSync(home, { recursive: true });
