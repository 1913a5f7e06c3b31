import type { SpawnOptions } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { localDriver } from '../../drivers/local.js';
import { TurnbackError } from '../../errors.js';
import { createGuard, isCheckpointBeforeAgentBatchEnabled, type Verdict } from '../../guard/index.js';
import { CHECKPOINT_TIMEOUT_MS, checkpointComment } from '../../policy.js';
import type { Command } from '../command.js';
import { Requests } from '../ending.js';
import { closed, type Opened, openInTime } from '../opening.js';
import { execute } from '../program.js';
import { printable, printableMessage } from '../text.js';

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
    'An interrupt or a request to end during the checkpoint keeps CMD from running: the exit code is 130 or 143.',
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
    const requests = new Requests();
    const { signal } = requests;
    let opened: Opened | undefined;
    let code: number;
    try {
      const from = performance.now();
      opened = isCheckpointBeforeAgentBatchEnabled()
        ? await openInTime(store, directory, signal, CHECKPOINT_TIMEOUT_MS)
        : undefined;
      const reason = opened === undefined ? undefined : 'reason' in opened ? opened.reason : undefined;
      let verdict: Verdict | undefined;
      let unprotected: string | undefined;
      if (opened === undefined) {
        unprotected = 'skipped (disabled)';
      } else if ('reason' in opened) {
        unprotected = `failed (${printableMessage(opened.reason)})`;
      } else {
        const timeoutMs = Math.max(1, Math.round(CHECKPOINT_TIMEOUT_MS - (performance.now() - from)));
        const driver = localDriver(opened.manager, directory);
        const guard = createGuard({ driver, logger: output.logger(), timeoutMs });
        verdict = await guard.beforeBatch({ sandboxId: opened.sandboxId, turnId, signal });
        if (!verdict.protected) unprotected = `${verdict.outcome} (${verdict.reason})`;
      }
      // One that has come and was not heard yet is heard here.
      await new Promise(setImmediate);
      if (requests.code !== undefined) {
        output.note('interrupted: the command did not run');
        code = requests.code;
      } else {
        if (unprotected !== undefined) output.note(`no checkpoint: ${unprotected}; the command runs`);
        const stdio: SpawnOptions['stdio'] = ['inherit', has('json') ? 2 : 'inherit', 'inherit'];
        code = await execute(program, programArgs, { cwd: directory, stdio }, requests);
      }
      report(verdict, reason, code, output);
    } finally {
      requests.over();
    }
    if (opened !== undefined && !(await closed(opened))) process.exit(code);
    return code;
  },
};

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
  if (verdict?.checkpointId !== undefined) output.note(`to go back: ${output.typed('rollback', verdict.checkpointId)}`);
}
