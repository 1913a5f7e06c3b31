import { type SpawnOptions, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { localDriver } from '../../drivers/local.js';
import { TurnbackError } from '../../errors.js';
import { createGuard, type Verdict } from '../../guard/index.js';
import { checkpointComment } from '../../policy.js';
import type { Command } from '../command.js';
import { printable } from '../text.js';

/** What a shell answers when a program cannot be started. */
const NOT_FOUND = 127;

export const runGuarded: Command = {
  name: 'run-guarded',
  summary: "run a command, after a checkpoint by the guard's rules",
  args: ['[DIR]'],
  rest: 'CMD…',
  options: {
    turn: { value: 'ID', help: 'the turn that the command belongs to (default: one of its own)' },
  },
  about: [
    'Takes a checkpoint of DIR (default: the working directory), then runs CMD there, with the terminal as it is. The exit code is',
    "CMD's own; 128 and the signal's number when a signal ended it; 127 when it cannot be started.",
    'A checkpoint that fails or takes over 10 s never keeps CMD from running: a line on stderr says so. With --json what CMD prints',
    'goes to stderr, and the document says what the guard answered.',
    'SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH=false, NODE_ENV=production and `turnback pause` switch the checkpoint off.',
  ],
  examples: ['turnback run-guarded -- rm -rf build', 'turnback run-guarded ~/project --turn 42 -- make clean'],
  async run({ args, rest: [program = '', ...programArgs], value, has }, { store, output }) {
    const directory = resolve(args[0] ?? '.');
    if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
      throw new TurnbackError('NOT_A_DIRECTORY', `there is no directory ${printable(directory)}; check the path`);
    }
    const turnId = value('turn') ?? randomUUID();
    // Refuses what is no turn id, before anything is done.
    checkpointComment(turnId);
    const manager = await store();
    const guard = createGuard({ driver: localDriver(manager, directory), logger: output.logger() });
    const verdict = await guard.beforeBatch({ sandboxId: directory, turnId });
    if (!verdict.protected) output.note(`no checkpoint: ${verdict.outcome} (${verdict.reason}); the command runs`);
    const stdio: SpawnOptions['stdio'] = ['inherit', has('json') ? 2 : 'inherit', 'inherit'];
    const { started, code } = await execute(program, programArgs, { cwd: directory, stdio });
    // It did not run: the turn's slot is free again (G8).
    if (!started) guard.release({ sandboxId: directory, turnId });
    report(verdict, code, output);
    return code;
  },
};

function report(verdict: Verdict, exitCode: number, output: Parameters<Command['run']>[1]['output']): void {
  // Without --json the command's own output is the answer.
  output.answer(
    { exitCode, checkpoint: verdict },
    () => [],
    () => [],
  );
  if (verdict.checkpointId !== undefined) output.note(`to go back: turnback rollback ${verdict.checkpointId}`);
}

/** Runs a program to its end. An interrupt of the terminal reaches it by itself; a request to end is passed on. */
function execute(program: string, args: string[], options: SpawnOptions): Promise<{ started: boolean; code: number }> {
  return new Promise((settle) => {
    const child = spawn(program, args, options);
    const stay = () => undefined;
    const passOn = () => void child.kill('SIGTERM');
    process.on('SIGINT', stay);
    process.on('SIGTERM', passOn);
    const done = (code: number, started = true) => {
      process.off('SIGINT', stay);
      process.off('SIGTERM', passOn);
      settle({ started, code });
    };
    child.once('error', (error: NodeJS.ErrnoException) => {
      process.stderr.write(`turnback: cannot run ${printable(program)}: ${error.code ?? error.message}\n`);
      done(NOT_FOUND, false);
    });
    child.once('exit', (code, signal) => done(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });
}
