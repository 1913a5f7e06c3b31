// What the tests of `turnback hook` share: a project, and the hook run as Claude Code runs it.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { holdLock } from '../guard/lock.js';
import { PACKAGE, type Ran, temporary, turnback, write } from './support.js';

type Stream = 'pipe' | number;

export const PROMPT = '5a3c8f0e-7d11-4c9e-9a57-0f6a2f1f6b10';
export const NEXT_PROMPT = '9be1c3f2-0c45-4d0a-8c55-6a1f2e5d7c33';

/** What Claude Code writes for one call, with its fields as of November 2026. */
export function call(workspace: string, over: object = {}) {
  return {
    session_id: '8c35adc1-2f4b-4f0e-9d7e-3b1c5a7e9f20',
    prompt_id: PROMPT,
    transcript_path: '/home/dev/.claude/projects/-home-dev-work/8c35adc1-2f4b-4f0e-9d7e-3b1c5a7e9f20.jsonl',
    cwd: workspace,
    permission_mode: 'default',
    effort: { level: 'medium' },
    hook_event_name: 'PreToolUse',
    tool_name: 'Bash',
    tool_input: { command: 'rm -rf build', description: 'Remove the build' },
    tool_use_id: 'toolu_01DUxyzWJq2bV8k9mN4pRs7T',
    ...over,
  };
}

export const bash = (command: unknown) => ({ tool_name: 'Bash', tool_input: { command } });

export function prepared() {
  const home = temporary();
  const workspace = write(join(home, 'work'), { 'a.txt': 'one\n' });
  const env: Record<string, string> = {
    TURNBACK_STORE: join(home, 'store'),
    XDG_STATE_HOME: join(home, 'state'),
    CLAUDE_PROJECT_DIR: workspace,
    NODE_ENV: '',
    SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH: '',
  };
  const notes = join(home, 'state', 'turnback-hooks');

  /** Starts a hook; it gets `input` and then the end of it, or with `open` no end. `out` and `err`: descriptors to write to instead. */
  function start(
    input: unknown,
    args: string[] = [],
    { open = false, more = {} as Record<string, string>, out = 'pipe' as Stream, err = 'pipe' as Stream } = {},
  ) {
    const child = spawn(process.execPath, [join(PACKAGE, 'bin', 'turnback.js'), 'hook', 'claude-code', ...args], {
      cwd: home,
      env: { ...process.env, ...env, ...more },
      stdio: ['pipe', out, err],
    });
    const ran: Ran & { writing?: Error } = { code: null, stdout: '', stderr: '' };
    child.stdout?.on('data', (data) => {
      ran.stdout += data;
    });
    child.stderr?.on('data', (data) => {
      ran.stderr += data;
    });
    child.stdin?.on('error', (error) => {
      ran.writing = error;
    });
    const over = new Promise<typeof ran>((resolve) => {
      child.once('close', (code) => resolve({ ...ran, code }));
    });
    child.stdin?.write(typeof input === 'string' ? input : JSON.stringify(input));
    if (!open) child.stdin?.end();
    return { child, over };
  }
  const hook = (input: unknown, ...args: string[]) => start(input, args).over;
  const told = async (input: unknown, ...args: string[]) => JSON.parse((await hook(input, '--json', ...args)).stdout);
  const checkpoints = () => JSON.parse(turnback(['list', '--json'], { cwd: workspace, env }).stdout).checkpoints;
  return { home, workspace, env, notes, start, hook, told, checkpoints };
}

/** A call with `--block` that has begun, in a process of its own (`worker`), and waits for its directory until `go` is called. */
export async function begun() {
  const made = prepared();
  await made.told(call(made.workspace, { prompt_id: NEXT_PROMPT }));
  const [{ sandboxId }] = made.checkpoints();
  const others = readdirSync(made.notes);
  const lock = holdLock(join(made.env.TURNBACK_STORE ?? '', 'locks', sandboxId));
  const { child, over } = made.start(call(made.workspace), ['--json', '--block', '--limit', '100s']);
  const mine = () => readdirSync(made.notes).find((name) => !name.includes('.') && !others.includes(name));
  while (mine() === undefined) await new Promise(setImmediate);
  const note = join(made.notes, mine() ?? '');
  const worker = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8'));
  const go = async () => {
    await lock.release();
    return await over;
  };
  return { ...made, child, over, worker, note, go };
}

export const SILENT = { code: 0, stdout: '', stderr: '' };
