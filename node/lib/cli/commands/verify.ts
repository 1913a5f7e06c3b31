import type { Command } from '../command.js';
import { EXIT } from '../exit.js';
import { resolveId } from '../ids.js';
import { notePending } from '../pending.js';
import { count, printable } from '../text.js';

export const verify: Command = {
  name: 'verify',
  summary: 'read one checkpoint, or all, and check every byte',
  args: ['[ID]'],
  options: {},
  about: ['Exits with 1 when something is damaged; it is listed.'],
  examples: ['turnback verify', 'turnback verify 01KB8Y2V3M4N5P6Q7R8S9T0VWX'],
  async run({ args: [given] }, { store, output, signal }) {
    const manager = await store();
    const id = given === undefined ? undefined : await resolveId(manager, given);
    const progress = output.progress();
    const report = await manager.verify(id, { signal, onProgress: progress.onProgress }).finally(progress.end);
    const damage = report.damaged.map(({ checkpointId, path, reason }) => {
      const where = path === undefined ? '' : ` ${printable(path)}`;
      return `${printable(checkpointId)}${where}: ${printable(reason)}`;
    });
    const pending = await notePending(manager, output);
    output.answer(
      { ...report, pending },
      () => [
        ...damage,
        report.ok
          ? `${count(report.checked, 'checkpoint')} checked, all sound.`
          : `${count(report.checked, 'checkpoint')} checked, damage found.`,
      ],
      () => damage,
    );
    return report.ok ? EXIT.done : EXIT.failed;
  },
};
