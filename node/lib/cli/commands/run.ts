import { invalidArgument } from '../../errors.js';
import type { CheckpointManager } from '../../manager.js';
import { type AnySandbox, createSandbox } from '../../sandbox/index.js';
import type { Command, Given, Tools } from '../command.js';
import { COMMITTING, committing } from '../commit-lines.js';
import { Requests } from '../ending.js';
import { EXIT, UsageError } from '../exit.js';
import { execute } from '../program.js';
import { type Ran, settle, type Wish } from '../run-end.js';
import { MAKING, making, remarks } from '../sandboxes.js';
import { printable } from '../text.js';

const WISHES = ['yes', 'discard', 'keep'] as const;

/** What would make a git in the sandbox work on another repository: a hook or an alias of git has them set. */
const OF_ANOTHER_REPOSITORY = [
  'GIT_DIR',
  'GIT_WORK_TREE',
  'GIT_INDEX_FILE',
  'GIT_COMMON_DIR',
  'GIT_OBJECT_DIRECTORY',
  'GIT_NAMESPACE',
  'GIT_PREFIX',
];

export const run: Command = {
  name: 'run',
  summary: 'run a command in a sandbox, see what it changed, commit it or not',
  args: ['[DIR]'],
  rest: 'CMD…',
  options: {
    yes: { help: 'commit without asking, if CMD exits with 0' },
    discard: { help: 'discard without asking; a checkpoint of the work is stored first' },
    keep: { help: 'keep the sandbox without asking' },
    patch: { help: 'show texts line by line, also where nobody is asked' },
    ...MAKING,
    strategy: { value: 'S', help: 'copy_on_write (default): a copy; git_worktree: a worktree of the git repository' },
    ...COMMITTING,
  },
  about: [
    'Makes a sandbox of DIR (default: the working directory), runs CMD in it with the terminal as it is, shows what changed, and asks',
    'whether to commit it to DIR. A sandbox whose work was committed or discarded, or that did not change, is removed; otherwise it is kept',
    'and a line says how to go on: also when nobody can be asked, when DIR was changed meanwhile, and after an interrupt. Nothing that CMD',
    'did is lost: even if this command is killed, `turnback sandbox list` shows its sandbox.',
    "The exit code is CMD's own; 128 and the signal's number when a signal ended it; 127 when it cannot be started. Where CMD exits with",
    '0: 4 when nothing was committed because DIR was changed as well; 3 when something was held back or nobody could be asked; 1 when',
    'the work could not be committed or discarded; 130 after an interrupt of the question.',
    'Everything but what CMD prints goes to stderr, unless standard output is a terminal. With --json what CMD prints goes to stderr.',
    'With --json and --quiet nobody is asked; --quiet says on stderr only which sandbox was kept.',
    'CMD finds the id of its sandbox in TURNBACK_SANDBOX.',
  ],
  examples: [
    'turnback run -- npm update',
    'turnback run ~/project --strategy git_worktree -- ./codemod.sh',
    'turnback run --yes --text-merge -- make format',
  ],
  async run(given, tools) {
    const settings = { wish: wishOf(given), options: committing(given), making: making(given) };
    if (settings.making.options.strategy === 'none') {
      throw new UsageError('run with strategy none would isolate nothing', 'use `turnback run-guarded` instead');
    }
    const requests = new Requests();
    try {
      const manager = await tools.store();
      const sandbox = await made(manager, given, settings.making, requests, tools);
      if (sandbox === undefined) return requests.code ?? EXIT.failed;
      const exitCode = await execute(given.rest[0] ?? '', given.rest.slice(1), inside(sandbox, tools), requests);
      requests.ended(exitCode);
      const ran: Ran = { manager, sandbox, exitCode, wish: settings.wish, options: settings.options };
      return await settle(ran, requests, given, tools);
    } finally {
      requests.over();
    }
  },
};

function wishOf({ has }: Given): Wish {
  const [wish = 'ask', another] = WISHES.filter((name) => has(name));
  if (another !== undefined) {
    throw new UsageError(`--${wish} and --${another} contradict each other`, 'see `turnback run --help`');
  }
  return wish;
}

/** The sandbox; `undefined` when somebody asked to end meanwhile, and then there is none. */
async function made(
  checkpoints: CheckpointManager,
  given: Given,
  { options }: ReturnType<typeof making>,
  requests: Requests,
  { output }: Tools,
): Promise<AnySandbox | undefined> {
  const { signal } = requests;
  const progress = output.progress();
  const { onProgress } = progress;
  const resource = given.args[0] ?? '.';
  let sandbox: AnySandbox | undefined;
  try {
    sandbox = await createSandbox({ resource, ...options, checkpoints, signal, onProgress });
    await sandbox.enter();
    // A request that has come and was not heard yet is heard here.
    await new Promise(setImmediate);
  } catch (error) {
    if (requests.code === undefined) throw error;
  } finally {
    progress.end();
  }
  if (requests.code !== undefined) {
    await sandbox?.cleanup();
    output.note('interrupted: the command did not run');
    return undefined;
  }
  if (sandbox?.pathBytes !== undefined) {
    await sandbox.cleanup();
    throw invalidArgument('DIR', `${sandbox.path} is no valid UTF-8: Node can start a command only where the path is`);
  }
  if (sandbox !== undefined) for (const remark of remarks(sandbox)) output.note(remark);
  return sandbox;
}

/** How CMD is started. */
function inside({ id, path }: AnySandbox, { output }: Tools) {
  const env: NodeJS.ProcessEnv = { ...process.env, PWD: path, TURNBACK_SANDBOX: id };
  for (const name of OF_ANOTHER_REPOSITORY) {
    if (env[name] === undefined) continue;
    output.note(`${name} is not passed on: it names a repository outside of the sandbox (${printable(env[name])})`);
    delete env[name];
  }
  const stdout: 2 | 'inherit' = output.json ? 2 : 'inherit';
  return { cwd: path, env, stdio: ['inherit' as const, stdout, 'inherit' as const] };
}
