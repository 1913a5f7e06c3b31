import { isTurnbackError } from '../../errors.js';
import type { KeepReason, PruneReport } from '../../types.js';
import type { Command } from '../command.js';
import { confirmed } from '../confirm.js';
import { EXIT } from '../exit.js';
import { count, printable, size } from '../text.js';
import { bytes, milliseconds, whole } from '../units.js';

/** Why checkpoints stay, said of several. */
const REASONS: Record<KeepReason, string> = {
  pinned: 'pinned (turnback unpin)',
  needed_by_rollback: 'needed to finish an interrupted rollback (turnback recover)',
  keep_last: 'among the last ones of their directory',
  keep_within: 'young enough',
  asked_for: 'taken or labelled by somebody: only a rule of yours takes them',
  newest: 'the newest of their directory',
  fits: 'the store is small enough',
  damaged: 'damaged: only turnback delete takes them',
  marks_damaged:
    'with label and pin damaged, so that they count as pinned (turnback pin, unpin or label writes them anew)',
};

/** What was asked for and is not so, or would not be. */
function shortLines(
  { storeBytes, targetReached }: PruneReport,
  maxBytes: number | undefined,
  dryRun: boolean,
): string[] {
  if (targetReached || maxBytes === undefined) return [];
  const holds = dryRun ? 'would still hold about' : 'still holds';
  return [
    `The store ${holds} ${size(storeBytes)}, more than the ${size(maxBytes)} that were asked for: no more may go.`,
  ];
}

function keptLines(kept: PruneReport['kept']): string[] {
  const groups = new Map<KeepReason, string[]>();
  for (const { checkpointId, reason } of kept) {
    groups.set(reason, [...(groups.get(reason) ?? []), printable(checkpointId)]);
  }
  return [...groups].map(([reason, ids]) => `  ${ids.length.toLocaleString('en-US')} ${REASONS[reason] ?? reason}`);
}

function takesAll(error: unknown): boolean {
  return isTurnbackError(error) && error.details.argument === 'rules.all';
}

export const prune: Command = {
  name: 'prune',
  summary: 'delete checkpoints by rules',
  args: [],
  options: {
    'keep-last': { value: 'N', help: 'the last N of each directory stay' },
    'keep-within': { value: 'TIME', help: 'what is not older stays: 12h, 7d, 2w' },
    'max-bytes': { value: 'SIZE', help: 'then the oldest go until the store holds no more: 500M, 2G' },
    'dry-run': { help: 'only show what would go' },
    yes: {
      help: 'also where nothing but pinned checkpoints would be left; without it that is asked on a terminal, and refused elsewhere',
    },
  },
  about: [
    'What --keep-last or --keep-within covers stays, all others go. With --max-bytes alone the oldest go, until the store is small enough.',
    'Exits with 3 when the store still holds more than --max-bytes.',
    'Pinned checkpoints always stay. Without a rule only old checkpoints of the guard and of rollbacks go: all but the last 50 of each',
    'directory, and those older than 7 days. That happens by itself, too.',
  ],
  examples: ['turnback prune --keep-last 10 --dry-run', 'turnback prune --keep-within 7d --max-bytes 2G'],
  async run({ value, has }, { store, output, signal, partial }) {
    const given = <T>(name: string, read: (option: string, text: string) => T): T | undefined => {
      const text = value(name);
      return text === undefined ? undefined : read(`--${name}`, text);
    };
    const dryRun = has('dry-run');
    const rules = {
      keepLast: given('keep-last', whole),
      keepWithinMs: given('keep-within', milliseconds),
      maxBytes: given('max-bytes', bytes),
      dryRun,
    };
    const manager = await store();
    const pruned = (all: boolean) => {
      const progress = output.progress();
      return manager.prune({ ...rules, all }, { signal, onProgress: progress.onProgress }).finally(progress.end);
    };
    const report = await pruned(has('yes')).catch(async (error: unknown) => {
      if (!takesAll(error) || has('json')) throw error;
      const assent = await confirmed(
        'This deletes every checkpoint that is not pinned, and no undo brings them back. Go on?',
        signal,
      );
      if (!assent) throw error;
      return await pruned(true);
    });
    const { deleted, kept, freedBytes } = report;
    const many = count(deleted.length, 'checkpoint');
    output.answer(
      report,
      () => [
        ...deleted,
        deleted.length === 0
          ? 'No checkpoint has to go.'
          : dryRun
            ? `${many} would go, and about ${size(freedBytes)} with ${deleted.length === 1 ? 'it' : 'them'} (nothing was deleted yet).`
            : `${many} deleted, ${size(freedBytes)} freed.`,
        ...(kept.length === 0
          ? []
          : [`${count(kept.length, 'checkpoint')} ${dryRun ? 'would stay' : kept.length === 1 ? 'stays' : 'stay'}:`]),
        ...keptLines(kept),
        ...shortLines(report, rules.maxBytes, dryRun),
        ...(dryRun && report.takesAll
          ? ['The run itself deletes every checkpoint that is not pinned: it asks first, or needs --yes.']
          : []),
      ],
      () => [...deleted],
    );
    return report.targetReached ? EXIT.done : partial;
  },
};
