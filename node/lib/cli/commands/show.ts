import type { Command } from '../command.js';
import { EXIT } from '../exit.js';
import { resolveListed } from '../ids.js';
import { coverageLines } from '../lists.js';
import { notePending } from '../pending.js';
import { count, printable, size, when } from '../text.js';

export const show: Command = {
  name: 'show',
  summary: 'show one checkpoint and what it covers',
  args: ['ID'],
  options: {},
  about: ['ID is a checkpoint id, or at least the first six characters of one.'],
  examples: ['turnback show 01KB8Y2V3M4N5P6Q7R8S9T0VWX'],
  async run({ args: [given = ''] }, { store, output }) {
    const manager = await store();
    const one = await resolveListed(manager, given);
    await notePending(manager, output);
    const { coverage } = one;
    output.answer(
      one,
      () => [
        `checkpoint  ${one.checkpointId}`,
        `workspace   ${printable(one.workspace)}`,
        `sandbox     ${printable(one.sandboxId)}`,
        `taken       ${when(one.createdAt)}, ${one.phase}, plan ${printable(one.planId)}`,
        ...(one.label === undefined ? [] : [`label       ${printable(one.label)}`]),
        ...(one.marksDamaged === undefined
          ? one.pinned
            ? ['pinned      yes']
            : []
          : [`marks       damaged, so that it counts as pinned: ${printable(one.marksDamaged)}`]),
        ...Object.entries(one.metadata).map(([key, value]) => `metadata    ${printable(key)}=${printable(value)}`),
        `holds       ${count(coverage.files, 'path')}, ${size(coverage.bytes)}${coverage.complete ? '' : ' [partial]'}`,
        `stored      ${size(one.bytes)} in ${printable(one.snapshotPath)}`,
        ...(coverage.changing === 0
          ? []
          : [`changing    ${count(coverage.changing, 'file')} changed while being read`]),
        ...coverageLines(coverage),
      ],
      () => [one.checkpointId],
    );
    return EXIT.done;
  },
};
