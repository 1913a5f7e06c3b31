import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { localDriver } from '../../drivers/local.js';
import { TurnbackError } from '../../errors.js';
import { createGuard, isCheckpointBeforeAgentBatchEnabled, type Verdict } from '../../guard/index.js';
import type { CheckpointManager } from '../../manager.js';
import { CHECKPOINT_TIMEOUT_MS, checkpointComment } from '../../policy.js';
import type { Command } from '../command.js';
import { printable, printableMessage } from '../text.js';

/** What a shell answers when a program cannot be started. */
const NOT_FOUND = 127;

const PASSED_ON = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

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
    'Each run takes a checkpoint of its own, also of a turn that has one: whether that is the same turn or an id that was used before, and',
    'what was restored since, no store can tell. It costs no more than what changed in between.',
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
    const from = performance.now();
    const opened = isCheckpointBeforeAgentBatchEnabled() ? await openInTime(store, directory) : undefined;
    const reason = opened === undefined ? undefined : 'reason' in opened ? opened.reason : undefined;
    let verdict: Verdict | undefined;
    if (opened === undefined) {
      output.note('no checkpoint: skipped (disabled); the command runs');
    } else if ('reason' in opened) {
      output.note(`no checkpoint: failed (${printableMessage(opened.reason)}); the command runs`);
    } else {
      const timeoutMs = Math.max(1, Math.round(CHECKPOINT_TIMEOUT_MS - (performance.now() - from)));
      const guard = createGuard({ driver: localDriver(opened.manager, directory), logger: output.logger(), timeoutMs });
      verdict = await guard.beforeBatch({ sandboxId: opened.sandboxId, turnId });
      if (!verdict.protected) output.note(`no checkpoint: ${verdict.outcome} (${verdict.reason}); the command runs`);
    }
    const stdio: SpawnOptions['stdio'] = ['inherit', has('json') ? 2 : 'inherit', 'inherit'];
    const code = await execute(program, programArgs, { cwd: directory, stdio });
    report(verdict, reason, code, output);
    // A store that hangs must not hold up the end either.
    if (opened !== undefined && 'hangs' in opened) process.exit(code);
    return code;
  },
};

type Opened = { manager: CheckpointManager; sandboxId: string } | { reason: string } | { reason: string; hangs: true };

/** The store, if it can be opened within the guard's limit: otherwise the command runs without a checkpoint (G5). */
async function openInTime(store: () => Promise<CheckpointManager>, directory: string): Promise<Opened> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Opened>((settle) => {
    timer = setTimeout(
      () => settle({ reason: 'the store did not answer in time', hangs: true }),
      CHECKPOINT_TIMEOUT_MS,
    );
  });
  const open = async (): Promise<Opened> => {
    try {
      const manager = await store();
      return { manager, sandboxId: await manager.sandboxIdOf(directory) };
    } catch (error) {
      return { reason: error instanceof Error ? error.message : String(error) };
    }
  };
  return await Promise.race([open(), late]).finally(() => clearTimeout(timer));
}

function report(
  verdict: Verdict | undefined,
  reason: string | undefined,
  exitCode: number,
  output: Parameters<Command['run']>[1]['output'],
): void {
  // Without --json the command's own output is the answer.
  output.answer(
    { exitCode, checkpoint: verdict ?? { protected: false, reason: reason ?? 'disabled' } },
    () => [],
    () => [],
  );
  if (verdict?.checkpointId !== undefined) output.note(`to go back: turnback rollback ${verdict.checkpointId}`);
}

/** Runs a program to its end. An interrupt of the terminal reaches it by itself; a request to end is passed on. */
function execute(program: string, args: string[], options: SpawnOptions): Promise<number> {
  return new Promise((settle) => {
    const cannot = (error: NodeJS.ErrnoException) => {
      const shown = printable(program) || "''";
      process.stderr.write(`turnback: cannot run ${shown}: ${error.code ?? error.message}\n`);
    };
    let child: ChildProcess;
    try {
      child = spawn(program, args, options);
    } catch (error) {
      cannot(error as NodeJS.ErrnoException);
      return settle(NOT_FOUND);
    }
    const passOn = (signal: NodeJS.Signals) => {
      // A terminal has sent its interrupt to the program as well.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    };
    for (const signal of PASSED_ON) process.on(signal, passOn);
    const done = (code: number) => {
      for (const signal of PASSED_ON) process.off(signal, passOn);
      settle(code);
    };
    child.once('error', (error: NodeJS.ErrnoException) => {
      cannot(error);
      done(NOT_FOUND);
    });
    child.once('exit', (code, signal) => done(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });
}
