// X3, G1, G4, G5, G11, G14: the hooks in the Claude Agent SDK itself and in Claude Code itself, which a server on the loopback plays the
// model for. Nothing is timed; limits are far beyond what a slow machine needs.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { freeze, mounted, thaw } from '../guard/frozen-disk.js';
import { call } from '../node/hook.js';
import { picture, temporary, write } from '../node/support.js';
import { environment, install, Outside, programOf, runs } from './claude/host.js';
import { Model, type Script } from './claude/model.js';
import { Bench, type Project, ROOT } from './project.js';

const bench = new Bench();
let project: Project;
let missing: string | undefined;
let outside: Outside;
beforeAll(async () => {
  project = bench.project('claude', bench.pack());
  missing = await install(project);
  project.link('typescript', '@types/node');
  project.add('claude');
  outside = await Outside.start();
}, 600_000);
afterAll(async () => {
  await outside.close();
  bench.remove();
});
beforeEach(({ skip }) => {
  if (missing !== undefined) skip(missing);
});

const TIDY = 'Tidy this workspace up, please.';
const AGAIN = 'Let somebody else do the rest.';
const DELEGATED = 'You are that somebody: do the rest.';
const FORBIDDEN = 'Do what nobody wants.';
const LOOK = 'Look around and change nothing.';

const bash = (command: string) => ({ name: 'Bash', input: { command, description: 'As asked' } });

interface Turn {
  turnId: string;
  checkpointId: string;
  late: boolean;
}

/** A workspace, a host that works in it, and a model that plays a script. */
async function scene(play: (workspace: string) => Script) {
  const home = temporary();
  const workspace = write(join(home, 'work'), {
    'a.txt': 'one\n',
    'run.sh': '#!/bin/sh\n',
    'sub/b.txt': 'two\n',
    'sub/empty/': '',
  });
  /** The workspace as each prompt found it. */
  const before: Record<string, Record<string, string>> = {};
  const model = await Model.start(play(workspace), (prompt) => {
    before[prompt] = picture(workspace);
  });
  onTestFinished(() => model.close());
  const store = join(home, 'store');
  const env = { ...environment(project, home, model.url, outside.url), TURNBACK_STORE: store };
  const command = (...args: string[]) => runs(['turnback', ...args], { cwd: workspace, env });
  const turns = async (): Promise<Turn[]> => JSON.parse((await command('turns', '--json')).stdout).turns;
  const back = async (turnId: string) => {
    expect(await command('rollback', '--turn', turnId)).toMatchObject({ code: 0 });
    return picture(workspace);
  };
  return { home, workspace, store, env, model, before, turns, back };
}

/** Writes, deletes and changes modes, in one answer and in the next, and then by a subagent. */
const damage = (workspace: string): Script => ({
  [TIDY]: [
    [
      bash('rm -r sub && mkdir new && chmod 700 run.sh'),
      { name: 'Write', input: { file_path: join(workspace, 'new', 'c.txt'), content: 'three' } },
    ],
    [bash('echo changed >a.txt && rm run.sh'), bash('cat a.txt'), bash('ls')],
  ],
  [AGAIN]: [
    [bash('ls'), bash('cat a.txt')],
    [
      {
        name: 'Agent',
        input: {
          description: 'The rest',
          prompt: DELEGATED,
          subagent_type: 'general-purpose',
          run_in_background: false,
        },
      },
    ],
  ],
  [DELEGATED]: [[bash('rm -r new'), bash('mv a.txt b.txt')]],
});

const onlyTheModel = (model: Model) => {
  expect(new Set(model.asked)).toEqual(new Set(['POST /v1/messages']));
  expect(outside.asked).toEqual([]);
};

describe('the Claude Agent SDK', () => {
  type Seen = Record<'prompts' | 'asked' | 'results', string[]>;

  async function queries(made: Awaited<ReturnType<typeof scene>>, given: object): Promise<Seen> {
    const { workspace, store, env } = made;
    const said = JSON.stringify({ workspace, store, guard: { timeoutMs: 600_000 }, ...given });
    const { code, stdout, output } = await runs([process.execPath, 'query.mjs', said], { cwd: project.root, env });
    expect(code, output).toBe(0);
    return JSON.parse(stdout);
  }

  it('takes the hooks by its own types', () => {
    const options = ['--noEmit', '--strict', '--ignoreConfig', '--skipLibCheck', '--types', 'node'];
    const kind = ['--module', 'nodenext', '--target', 'es2022', '--lib', 'es2023,esnext.disposable'];
    const ran = project.program('typescript/bin/tsc', [...options, ...kind, 'hooks.mts']);
    expect(ran).toEqual({ code: 0, output: '', stdout: '' });
  });

  it('one checkpoint a turn, of the state before its first call, with the calls of a subagent in it (G1, G4, G11)', async () => {
    const made = await scene(damage);
    const { workspace, model, before, turns, back } = made;
    const { prompts, results } = await queries(made, { prompts: [TIDY, AGAIN] });
    expect(results).toEqual(['success', 'success']);
    expect([...model.results.values()].flat().filter(({ error }) => error)).toEqual([]);
    expect([...model.results].map(([prompt, { length }]) => [prompt, length])).toEqual([
      [TIDY, 5],
      [AGAIN, 3],
      [DELEGATED, 2],
    ]);
    expect(Object.keys(picture(workspace)).sort()).toEqual(['.', './b.txt']);
    expect((await turns()).map(({ turnId, late }) => [turnId, late])).toEqual(prompts.map((id) => [id, false]));
    const [first = '', second = ''] = prompts;
    expect(Object.keys(before[AGAIN] ?? {}).sort()).toEqual(['.', './a.txt', './new', './new/c.txt']);
    expect(await back(second)).toEqual(before[AGAIN]);
    expect(await back(first)).toEqual(before[TIDY]);
    onlyTheModel(model);
  });

  it("asks hooks before the permission; with 'unless_read_only' what only reads has no checkpoint (G14)", async () => {
    const made = await scene(() => ({
      [LOOK]: [[bash("grep -rn 'one' . | head -3"), bash('ls -la')]],
      [FORBIDDEN]: [[bash('touch forbidden')]],
    }));
    const { workspace, model, before, turns } = made;
    const guard = { timeoutMs: 600_000, when: 'unless_read_only' };
    const { prompts, asked } = await queries(made, { prompts: [LOOK, FORBIDDEN], guard });
    expect(asked).toContain('Bash');
    expect(model.results.get(LOOK)).toMatchObject([{ error: false }, { error: false }]);
    expect(model.results.get(FORBIDDEN)).toEqual([{ error: true, text: 'the user said no' }]);
    expect((await turns()).map(({ turnId, late }) => [turnId, late])).toEqual([[prompts[1], false]]);
    expect(picture(workspace)).toEqual(before[FORBIDDEN]);
    onlyTheModel(model);
  });

  it.each([
    ['runs', {}, { error: false }, true],
    [
      "is denied with onFailure: 'block'",
      { onFailure: 'block' },
      { error: true, text: expect.stringContaining('checkpoint') },
      false,
    ],
  ])('a call without a checkpoint %s (G5)', async (_, more, result, ran) => {
    const made = await scene(() => ({ [TIDY]: [[bash('touch ran')]] }));
    const { workspace, model } = made;
    await queries(made, { prompts: [TIDY], guard: { timeoutMs: 600_000, ...more }, closed: true });
    expect(model.results.get(TIDY)).toMatchObject([result]);
    expect(existsSync(join(workspace, 'ran'))).toBe(ran);
    onlyTheModel(model);
  });
});

describe('Claude Code', () => {
  /** The settings that a README has for pasting. */
  function pasted(file: string): string {
    const about = readFileSync(join(ROOT, file), 'utf8').split(/^#+ In Claude Code$/m)[1] ?? '';
    return about.match(/^```json\n(.*?)^```$/ms)?.[1] ?? '';
  }

  /** These, with limits that no machine reaches, and other options of the hook. */
  function settings(more = ''): string {
    const [text, limits] = [pasted('README.md'), 'turnback hook claude-code --unless-read-only", "timeout": 20 '];
    expect(text).toContain(limits);
    return text.replace(limits, `turnback hook claude-code --unless-read-only --limit 300s${more}", "timeout": 310 `);
  }

  async function started(play: (workspace: string) => Script, text = settings()) {
    const made = await scene(play);
    write(made.workspace, { '.claude/settings.json': text });
    const debug = join(made.home, 'debug');
    const options = ['--allowedTools', 'Bash', 'Write', 'Agent', '--debug-file', debug];
    const claude = (line: string[], more: Record<string, string> = {}) =>
      runs([programOf(project), ...options, ...line], { cwd: made.workspace, env: { ...made.env, ...more } });
    return { ...made, claude, debugged: () => readFileSync(debug, 'utf8') };
  }

  const DONE = { code: 0, stdout: 'Done.\n', stderr: '' };

  it('has, with what the README has for pasting, a checkpoint for each prompt, and prompts can be taken back', async () => {
    expect(pasted('node/README.md')).toBe(pasted('README.md'));
    const made = await started(damage);
    const { workspace, model, before, turns, back, claude } = made;
    expect(await claude(['-p', TIDY])).toMatchObject(DONE);
    expect(await claude(['--continue', '-p', AGAIN])).toMatchObject(DONE);
    expect([...model.results.values()].flat().filter(({ error }) => error)).toEqual([]);
    expect(Object.keys(picture(workspace)).sort()).toEqual(['.', './.claude', './.claude/settings.json', './b.txt']);
    const [first, second, ...none] = await turns();
    expect([first?.late, second?.late, none]).toEqual([false, false, []]);
    expect(await back(second?.turnId ?? '')).toEqual(before[AGAIN]);
    expect(await back(first?.turnId ?? '')).toEqual(before[TIDY]);
    onlyTheModel(model);
  });

  it('tells a hook what other tests say that it tells', async () => {
    const record = {
      matcher: '*',
      hooks: [{ type: 'command', command: 'cat >>"$HOME/inputs"; echo >>"$HOME/inputs"' }],
    };
    const recorded = JSON.stringify({ hooks: { PreToolUse: [record] } });
    const { home, workspace, claude } = await started(() => ({ [TIDY]: [[bash('rm -rf build')]] }), recorded);
    expect(await claude(['-p', TIDY])).toMatchObject(DONE);
    const { effort, ...input } = JSON.parse(readFileSync(join(home, 'inputs'), 'utf8'));
    const { effort: _, ...ours } = call(workspace);
    expect(Object.keys(input).sort()).toEqual(Object.keys(ours).sort());
    expect(input).toMatchObject({
      cwd: workspace,
      hook_event_name: 'PreToolUse',
      tool_input: bash('rm -rf build').input,
    });
  });

  it('has none for what only reads (G14), and one for a call that is denied', async () => {
    const play = () => ({
      [LOOK]: [[bash("grep -rn 'one' . | head -3"), bash('ls -la')]],
      [FORBIDDEN]: [[bash('rm a.txt')]],
    });
    const { model, workspace, before, claude, turns } = await started(play);
    expect(await claude(['-p', LOOK])).toMatchObject(DONE);
    expect(model.results.get(LOOK)).toMatchObject([{ error: false }, { error: false }]);
    expect(await turns()).toEqual([]);
    expect(await claude(['--disallowedTools', 'Bash(rm *)', '-p', FORBIDDEN])).toMatchObject(DONE);
    expect(model.results.get(FORBIDDEN)).toMatchObject([{ error: true }]);
    expect(await turns()).toHaveLength(1);
    expect(picture(workspace)).toEqual(before[FORBIDDEN]);
    onlyTheModel(model);
  });

  it.each([
    ['without a checkpoint runs', '', { error: false }, 'no checkpoint: failed (', 'the call runs'],
    ['whose hook has a wrong command line runs', ' --bogus', { error: false }, 'INVALID_ARGUMENT', '--bogus'],
    ['without a checkpoint does not run with --block', ' --block', { error: true }, 'failed (', 'the call is blocked'],
  ])('a call %s, and it is said why (G5)', async (_, more, result, ...sentences) => {
    const made = await started(() => ({ [TIDY]: [[bash('touch ran')]] }), settings(more));
    const { workspace, home, model, claude, debugged } = made;
    const file = join(write(home, { file: '' }), 'file');
    expect(await claude(['-p', TIDY], { TURNBACK_STORE: file })).toMatchObject(DONE);
    expect(model.results.get(TIDY)).toMatchObject([result]);
    expect(existsSync(join(workspace, 'ran'))).toBe(!result.error);
    // To the model, or else in the log for debugging.
    const said = result.error ? model.results.get(TIDY)?.[0]?.text : debugged();
    for (const sentence of sentences) expect(said).toContain(sentence);
    onlyTheModel(model);
  });

  it.for([
    ['runs when the host’s own limit is over', '"timeout": 310', '"timeout": 3', { error: false }],
    ['does not run with --block', '--limit 300s', '--limit 1s --block', { error: true }],
  ] as const)('a call whose hook hangs in the kernel %s', async ([, from, to, result], context) => {
    const there = mounted();
    if ('reason' in there) return context.skip(there.reason);
    const { workspace, model, claude } = await started(
      () => ({ [TIDY]: [[bash('touch ran')]] }),
      settings().replace(from, to),
    );
    if (!freeze(there.mount)) return context.skip('fsfreeze is not possible here');
    try {
      expect(await claude(['-p', TIDY], { XDG_STATE_HOME: join(there.mount, 'state') })).toMatchObject(DONE);
    } finally {
      thaw(there.mount);
    }
    expect(model.results.get(TIDY)).toMatchObject([result]);
    expect(existsSync(join(workspace, 'ran'))).toBe(!result.error);
  });
});
