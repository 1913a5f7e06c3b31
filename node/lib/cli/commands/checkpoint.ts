import { phase as checkPhase } from '../../options.js';
import type { Command } from '../command.js';
import { EXIT, UsageError } from '../exit.js';
import { coverageLines } from '../lists.js';
import { isRecovered, recoveredLines } from '../pending.js';
import { count, printable, size } from '../text.js';

const SEE = 'see `turnback checkpoint --help`';

function metadata(pairs: string[]): Record<string, string> {
  const entries = new Map<string, string>();
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw new UsageError('--meta takes KEY=VALUE', SEE);
    const key = pair.slice(0, at);
    if (entries.has(key)) throw new UsageError('--meta gives one key twice', SEE);
    entries.set(key, pair.slice(at + 1));
  }
  return Object.fromEntries(entries);
}

export const checkpoint: Command = {
  name: 'checkpoint',
  summary: 'take a checkpoint of a directory',
  args: ['[DIR]'],
  options: {
    plan: { value: 'ID', help: 'the plan that it belongs to (default: manual)' },
    phase: {
      value: 'P',
      help: 'pre_execute, post_execute, pre_apply, pre_batch, pre_rollback or manual (default)',
    },
    label: { value: 'L', help: 'a label, at most 200 bytes' },
    meta: { value: 'K=V', multiple: true, help: 'metadata; may be given again' },
    exclude: { value: 'P', multiple: true, help: 'leave out what matches, in gitignore syntax; may be given again' },
    'exclude-ignored': { help: 'leave out what .gitignore files name, tracked by git or not' },
    'allow-broad': { help: 'allow /, a home directory and a directory for temporary files' },
  },
  about: [
    'Pictures DIR (default: the working directory) with everything in it, ignored files and .git included. DIR is only read.',
    'Exits with 3 when something could not be covered, or when a rollback that had been interrupted was finished first and left something;',
    'it is listed with its reason.',
  ],
  examples: [
    'turnback checkpoint',
    'turnback checkpoint ~/project --label "before the upgrade"',
    'ID=$(turnback checkpoint --quiet)',
  ],
  async run({ args, value, values, has }, { store, output, signal, partial }) {
    const meta = metadata(values('meta'));
    const phase = checkPhase('--phase', value('phase') ?? 'manual');
    const manager = await store();
    const progress = output.progress();
    const record = await manager
      .createCheckpoint(args[0] ?? '.', value('plan') ?? 'manual', phase, meta, {
        signal,
        onProgress: progress.onProgress,
        label: value('label'),
        exclude: values('exclude'),
        excludeIgnored: has('exclude-ignored'),
        allowBroad: has('allow-broad'),
      })
      .finally(progress.end);
    const { checkpointId, workspace, coverage, recovered } = record;
    output.answer(
      record,
      () => [
        checkpointId,
        `  ${printable(workspace)}: ${count(coverage.files, 'path')}, ${size(coverage.bytes)}`,
        ...coverageLines(coverage),
        ...recoveredLines(recovered, output),
        `To go back to it: ${output.typed('rollback', checkpointId)}`,
      ],
      () => [checkpointId],
    );
    return coverage.complete && (recovered === undefined || isRecovered(recovered)) ? EXIT.done : partial;
  },
};
