import { type CleanupReport, cleanupAbandoned } from '../../../sandbox/index.js';
import type { Command, Given, Tools } from '../../command.js';
import { EXIT, UsageError } from '../../exit.js';
import { errorDocument } from '../../json.js';
import { next, remainsLines, sandboxOf, savedLines } from '../../sandboxes.js';
import { sentence } from '../../sentence.js';
import { count, printable, printableMessage } from '../../text.js';

const SEE = 'see `turnback sandbox cleanup --help`';

export const cleanup: Command = {
  name: 'sandbox cleanup',
  summary: 'remove sandboxes',
  args: ['[ID]…'],
  options: {
    force: { help: 'also with unsaved work: a checkpoint of it is stored first' },
    abandoned: { help: 'instead of ID: all that nobody keeps any more and that hold no unsaved work' },
  },
  about: [
    'Removes the directory of each sandbox and what the store knows of it. One with work that was not committed is refused unless --force',
    'is given. What lies beside that directory, made with `../`, is work as well, and is never removed. All are tried; the exit code is 1 when one of them could not be removed.',
  ],
  examples: ['turnback sandbox cleanup 3f2a9c', 'turnback sandbox cleanup --abandoned'],
  async run(given, tools) {
    const { args, has } = given;
    if (has('abandoned') === args.length > 0) {
      throw new UsageError('sandbox cleanup needs either ID or --abandoned', SEE);
    }
    if (has('abandoned') && has('force')) throw new UsageError('--force does not go with --abandoned', SEE);
    return has('abandoned') ? await abandoned(given, tools) : await named(given, tools);
  },
};

async function named(given: Given, { store, output, signal }: Tools): Promise<number> {
  const manager = await store();
  const sandboxes = [];
  // All of them are looked for before anything is done with one.
  for (const id of new Set(given.args)) sandboxes.push(await sandboxOf(manager, id));
  const removed: ({ id: string } & CleanupReport)[] = [];
  const failed: { id: string; error: unknown }[] = [];
  const force = given.has('force');
  for (const sandbox of new Map(sandboxes.map((one) => [one.id, one])).values()) {
    const { id } = sandbox;
    try {
      removed.push({ id, ...(await sandbox.cleanup({ force, signal })) });
    } catch (error) {
      // What became of the others must not be lost with it, and of an interrupt it is one as well.
      failed.push({ id, error });
    }
  }
  const [first] = failed;
  if (first !== undefined && sandboxes.length === 1) throw first.error;
  for (const { id, error } of failed) {
    process.stderr.write(`turnback: ${id}: ${printableMessage(sentence(error, given.value('store')))}\n`);
  }
  output.answer(
    { removed, failed: failed.map(({ id, error }) => ({ id, ...errorDocument(error) })) },
    () => removed.flatMap((one) => [`Removed ${one.id}.`, ...savedLines(given, one)]),
    () => removed.flatMap(({ savedCheckpointId }) => savedCheckpointId ?? []),
  );
  return first === undefined ? EXIT.done : EXIT.failed;
}

async function abandoned(given: Given, { store, output, signal, partial }: Tools): Promise<number> {
  const progress = output.progress();
  const { onProgress } = progress;
  const report = await cleanupAbandoned({ checkpoints: await store(), signal, onProgress }).finally(progress.end);
  const { removed, kept } = report;
  output.answer(
    report,
    () => [
      `${removed.length === 0 ? 'No sandbox was' : count(removed.length, 'sandbox was', 'sandboxes were')} removed.`,
      ...removed.map((id) => `  ${id}`),
      ...remainsLines(report.remains),
      ...(kept.length === 0 ? [] : [`Kept although nobody keeps them, ${count(kept.length, 'sandbox', 'sandboxes')}:`]),
      ...kept.map(({ id, reason }) => `  ${id}  (${printable(reason)})`),
      ...(kept.length === 0 ? [] : [`To see what one holds: ${next(given, 'changes ID')}`]),
    ],
    () => [...removed],
  );
  return kept.length === 0 ? EXIT.done : partial;
}
