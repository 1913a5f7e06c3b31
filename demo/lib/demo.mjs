// The demo itself: checkpoint, an agent's turn, rollback, proof; then once more with the root destroyed.
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { count, duration, green, plural, red, size, table } from '../../scripts/lib/text.mjs';
import { byKind, compare, line } from '../picture/compare.mjs';
import { compile, take } from '../picture/take.mjs';
import { disagreements, pathOf } from './agree.mjs';
import { addOddities, copyInput } from './input.mjs';
import { copying, covers, diskBytes, git } from './peers.mjs';
import { bash, run } from './shell.mjs';
import { createShow, kindsText, printable } from './show.mjs';
import { guardFaults, runTurn } from './turn.mjs';

/** @typedef {import('../picture/parse.mjs').Picture} Picture */
/** @typedef {import('../picture/compare.mjs').Difference} Difference */
/** @typedef {import('./engine.mjs').Engine} Engine */
/** @typedef {import('./engine.mjs').Report} Report */

const FIRST_LINES = 12;
const SIGNS = /** @type {Record<string, string>} */ ({
  added: '+',
  deleted: '-',
  modified: '~',
  type_changed: 'T',
  metadata: 'm',
});

/** @param {Picture} picture */
function totals(picture) {
  /** @type {Set<string>} */
  const inodes = new Set();
  let bytes = 0;
  for (const { type, inode, size: length } of picture.values()) {
    if (type !== 'file' || inodes.has(inode)) continue;
    inodes.add(inode);
    bytes += Number(length);
  }
  return { paths: picture.size, bytes };
}

/**
 * @param {object} options
 * @param {string} options.source the directory to copy; it is only read
 * @param {string} options.about what the source is, for people
 * @param {string[]} options.leaveOut names at its top that are not copied
 * @param {string} options.home an empty directory for everything that the demo writes; the caller removes it
 * @param {(store: string) => Promise<Engine>} options.open the engine under test
 * @param {(text: string) => void} [options.write]
 * @returns {Promise<boolean>} whether every path came back, both times
 */
export async function runDemo({ source, about, leaveOut, home, open, write = (text) => process.stdout.write(text) }) {
  const show = createShow(write);
  const at = (/** @type {string} */ name) => join(home, name);
  const [workspace, store, outside, scratch] = [at('project'), at('store'), at('outside'), at('scratch')];
  for (const folder of [outside, scratch]) mkdirSync(folder);
  writeFileSync(join(outside, 'precious'), 'a link in the project leads here; no rollback may touch it\n');

  show.title('Turnback demo: take a checkpoint, let an agent loose, roll back, prove it');
  show.fact('input', about);
  show.fact('works on', `${workspace}, a copy: the input is only read`);
  show.fact('store', store);

  show.heading('Before');
  const { value: programs } = await show.step('compile the independent comparison (C)', async () => compile(at('bin')));
  await show.step('copy the input (cp -a)', () => copyInput({ source, workspace, leaveOut }));
  const { value: refused } = await show.step('add what real projects also hold, in "demo oddities"', () =>
    addOddities({ workspace, outside, xattr: programs.xattr }),
  );
  show.detail('hard links, empty directories, odd names, set-id, read-only, sparse, fifo, xattrs, a nested repository');
  for (const what of refused) show.detail(`not possible here: ${what}`);
  const { value: before } = await show.step(
    'picture of every path, by the independent comparison',
    () => take(programs, workspace),
    (picture) => `${plural(picture.size, 'path')}, ${size(totals(picture).bytes)}`,
  );
  const outsideBefore = await take(programs, outside);
  const rootInode = statSync(workspace).ino;

  const { value: engine } = await show.step('open the store', () => open(store));
  try {
    return await acts();
  } finally {
    await engine.close();
  }

  async function acts() {
    const { value: checkpoint, ms: firstMs } = await show.step(
      'checkpoint',
      () => engine.checkpoint(workspace),
      (id) => `id ${id}`,
    );
    const { ms: againMs } = await show.step('checkpoint again, nothing changed', () => engine.checkpoint(workspace));
    const uncovered = await engine.uncovered(checkpoint);
    const storeBytes = await diskBytes(store);
    show.detail(`the store holds ${size(storeBytes)}; ${plural(uncovered.length, 'path')} not covered`);
    for (const { path, reason } of uncovered.slice(0, FIRST_LINES)) show.detail(`  ${printable(path)}: ${reason}`);
    const exempt = uncovered.map(pathOf);
    const { value: copy } = await show.step('the same with cp -a, three times', () =>
      copying({ workspace, before, scratch, programs }),
    );
    const { value: tree } = await show.step('the same with git add -A && git write-tree, twice, and back', () =>
      git({ workspace, before, scratch, programs }),
    );

    show.heading("Act 1: the agent's turn");
    const has = await abilities(workspace);
    if (!refused.includes('extended attributes')) has.add('xattr');
    const turn = engine.turn(workspace, 'the-demo-turn');
    show.detail('through runBash, which asks the guard before each command; the first two are started at once');
    const verdicts = await runTurn({ turn, scratch, outside, xattr: programs.xattr, has }, (command, ran) => {
      const said = (ran.stderr.trim() || ran.stdout.trim()).split('\n')[0] ?? '';
      const guard = `guard: ${ran.verdict.outcome}`;
      show.command(command.what, ran.ms, said ? `${said} (${guard})` : guard, ran.code !== 0 || ran.stderr !== '');
    });
    const made = await turn.checkpoints();
    const faults = guardFaults(verdicts, made);
    const guarded = verdicts[0]?.checkpointId;
    if (guarded === undefined) throw new Error(`the guard made no checkpoint: ${verdicts[0]?.reason}`);
    const waited = Math.max(...verdicts.map(({ durationMs }) => durationMs));
    show.detail(`the guard made ${plural(made.length, 'checkpoint')} for ${plural(verdicts.length, 'command')}`);
    show.detail(`  id ${guarded}; the longest wait for it was ${duration(waited)}`);
    for (const fault of faults.slice(0, FIRST_LINES)) show.line(`      ! ${fault}`);
    const { value: damage } = await show.step(
      'what the independent comparison sees',
      async () => compare(before, await take(programs, workspace)),
      (found) => kindsText(byKind(found)),
    );
    const { value: changes, ms: diffMs } = await show.step('what turnback diff sees', () => engine.diff(guarded));
    const kinds = new Map();
    for (const { kind } of changes) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    show.detail(kindsText(kinds));
    for (const { path, kind } of changes.slice(0, FIRST_LINES))
      show.line(`      ${SIGNS[kind] ?? '?'} ${printable(path) || '.'}`);
    if (changes.length > FIRST_LINES) show.detail(`  … and ${count(changes.length - FIRST_LINES)} more`);
    const doubts = disagreements(
      damage.filter(({ path }) => !isExempt(path, exempt)),
      before,
      changes,
    );
    for (const doubt of doubts.slice(0, FIRST_LINES)) show.line(`      ! ${doubt}`);
    const first = await rollBack("roll back to the guard's checkpoint", guarded);
    const keptRoot = statSync(workspace).ino === rootInode;

    show.heading('Act 2: the agent destroys the root itself');
    const gone = await bash('chmod -R u+rwX -- "$0"; rm -rf -- "$0"', { cwd: home, args: [workspace] });
    show.command('chmod -R u+rwX project; rm -rf project', gone.ms, '', false);
    const second = await rollBack('roll back to the first checkpoint', checkpoint);

    show.heading('Side by side, the same tree, in this run');
    const all = totals(before);
    /** @param {{ contents: number, exact: number }} c */
    const back = (c) => [`${count(c.contents)}`, `${count(c.exact)}`];
    const rows = [
      ['', 'contents back', 'as before', 'holds', 'first', 'unchanged', 'after the turn', 'root gone'],
      [
        'turnback',
        ...back(second.covers),
        size(storeBytes),
        duration(firstMs),
        duration(againMs),
        duration(first.ms),
        duration(second.ms),
      ],
    ];
    for (const peer of [copy, tree]) {
      if (typeof peer === 'string') continue;
      const times = [duration(peer.firstMs), duration(peer.againMs), '–', duration(peer.restoreMs)];
      rows.push([peer.name, ...back(peer.covers), size(peer.bytes), ...times]);
    }
    show.line(table(rows, { right: [1, 2, 3, 4, 5, 6, 7] }));
    show.line();
    show.line(
      `  of ${plural(all.paths, 'path')} and ${size(all.bytes)}; paths back after "root gone", by the independent comparison.`,
    );
    show.line(
      `  turnback covers ${uncovered.length === 0 ? 'everything' : `all but ${plural(uncovered.length, 'path')}`}; it syncs to disk, cp and git do not; diff took ${duration(diffMs)}.`,
    );
    show.line(`  cp -a covers ${copy.note}.`);
    show.line(typeof tree === 'string' ? `  git: ${tree}.` : `  git ${tree.note}.`);

    show.heading('Verdict');
    const outsideSame = compare(outsideBefore, await take(programs, outside)).length === 0;
    const checks = /** @type {[boolean, string][]} */ ([
      [damage.length > 0, `the turn did harm: ${plural(damage.length, 'difference')} before the first rollback`],
      [
        faults.length === 0,
        `the guard made one checkpoint for the turn, before its first commands: ${plural(faults.length, 'fault')}`,
      ],
      [doubts.length === 0, `the diff tells what the comparison sees: ${plural(doubts.length, 'disagreement')}`],
      [
        first.differences.length === 0,
        `after the turn every path came back: ${plural(first.differences.length, 'difference')}`,
      ],
      [first.report.restored && !first.report.rootRecreated && keptRoot, 'the root directory is still the same inode'],
      [
        second.differences.length === 0,
        `after rm -rf of the root every path came back: ${plural(second.differences.length, 'difference')}`,
      ],
      [second.report.restored && second.report.rootRecreated, 'the report says that the root was recreated'],
      [outsideSame, 'nothing outside was touched, though links lead there'],
    ]);
    for (const [good, text] of checks) show.check(good, text);
    const passed = checks.every(([good]) => good);
    const except =
      exempt.length > 0
        ? `, but for ${plural(exempt.length, 'path')} that the checkpoint had said it does not cover`
        : '';
    show.line();
    show.line(
      passed
        ? green(`VERDICT: exact. All ${plural(before.size, 'path')} came back as they were, twice${except}.`)
        : red('VERDICT: not exact. See the lines marked FAIL above.'),
    );
    return passed;

    /** @param {string} what @param {string} id */
    async function rollBack(what, id) {
      const { value: report, ms } = await show.step(
        `${what} (git: 'exact')`,
        () => engine.rollback(id),
        (r) =>
          `${count(r.written)} written, ${count(r.deleted)} deleted, ${count(r.kept.length)} kept, ${count(r.notRestorable.length)} not restorable${r.rootRecreated ? ', root recreated' : ''}`,
      );
      for (const { path, reason } of [...report.kept, ...report.notRestorable].slice(0, FIRST_LINES)) {
        show.detail(`  ${printable(path)}: ${reason}`);
      }
      const { value: found } = await show.step('compare every path with the picture from before', async () => {
        const after = await take(programs, workspace);
        return { differences: compare(before, after), covers: covers(before, after) };
      });
      const differences = found.differences.filter(({ path }) => !isExempt(path, exempt));
      show.detail(differences.length === 0 ? 'no difference' : kindsText(byKind(differences)));
      for (const difference of differences.slice(0, FIRST_LINES)) show.line(`      ${line(difference)}`);
      if (differences.length > FIRST_LINES) show.detail(`  … and ${count(differences.length - FIRST_LINES)} more`);
      return { report, ms, differences, covers: found.covers };
    }
  }
}

/** @param {string} path @param {string[]} exempt paths that the checkpoint had listed as not covered */
const isExempt = (path, exempt) => exempt.some((one) => path === one || path.startsWith(`${one}/`));

/** What the commands of the turn may use. @param {string} workspace */
async function abilities(workspace) {
  /** @type {Set<string>} */
  const has = new Set();
  if (process.getuid?.() === 0) has.add('root');
  // Only a repository that lies wholly inside the copy: a worktree's .git is a file that leads to the user's own.
  const own = statSync(join(workspace, '.git'), { throwIfNoEntry: false })?.isDirectory();
  if (
    own &&
    (
      await run('git', ['--git-dir=.git', 'rev-parse', '-q', '--verify', 'HEAD'], { cwd: workspace }).catch(
        () => undefined,
      )
    )?.code === 0
  ) {
    has.add('git');
  }
  return has;
}
