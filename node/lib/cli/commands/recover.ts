import { resolve } from 'node:path';
import type { Command } from '../command.js';
import { EXIT } from '../exit.js';
import { isRecovered, notePending, recoveryLines } from '../pending.js';
import { printable } from '../text.js';
import { deadlineOf } from '../units.js';

export const recover: Command = {
  name: 'recover',
  summary: 'finish a rollback that was interrupted, or give it up',
  args: ['[DIR]'],
  options: {
    abandon: { help: 'give it up instead: DIR stays as it is, and what was still to be done is listed' },
    deadline: { value: 'TIME', help: 'stop after this time (30s, 5m); what is left waits on' },
  },
  about: [
    'A rollback, undo or revert that a crash, a kill or a deadline interrupted leaves a journal. The next command that writes to DIR',
    '(default: the working directory) finishes it first; this does only that. Paths that somebody changed meanwhile are left and listed.',
    'Exits with 3 when something was left.',
  ],
  examples: ['turnback recover', 'turnback recover ~/project --abandon'],
  async run({ args: [directory = '.'], has, value }, { store, output, signal, partial }) {
    const deadlineMs = deadlineOf(value('deadline'));
    const manager = await store();
    const progress = output.progress();
    const limits = { signal, onProgress: progress.onProgress, deadlineMs };
    const report = await (has('abandon')
      ? manager.abandon(directory, limits)
      : manager.recover(directory, limits)
    ).finally(progress.end);
    if (report === undefined) await notePending(manager, output);
    output.answer(
      { recovered: report ?? null },
      () =>
        report === undefined
          ? [`Nothing was interrupted in ${printable(resolve(directory))}.`]
          : recoveryLines(report, output),
      () => [],
    );
    return report === undefined || isRecovered(report) ? EXIT.done : partial;
  },
};
