// What `cp -a` and `git add -A && git write-tree` take for the same tree on the same machine, and what they bring back.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { compare } from '../picture/compare.mjs';
import { escapeBytes } from '../picture/parse.mjs';
import { take } from '../picture/take.mjs';
import { bash, environment, must, run } from './shell.mjs';

/** @typedef {import('../picture/parse.mjs').Picture} Picture */
/**
 * @typedef {object} Measured
 * @property {string} name
 * @property {number} firstMs
 * @property {number} againMs the same tree once more, nothing changed
 * @property {number} restoreMs into an empty place
 * @property {number} bytes held on disk
 * @property {Covers} covers
 * @property {string} note what is not covered
 */
/** @typedef {{ contents: number, exact: number }} Covers paths whose type and contents came back, and that came back as they were */

/** @param {string} directory */
export async function diskBytes(directory) {
  const { stdout } = await must('du', ['-sk', '--', directory]);
  return Number(stdout.split('\t')[0]) * 1024;
}

/** @param {Picture} before @param {Picture} after @returns {Covers} */
export function covers(before, after) {
  const differences = compare(before, after);
  /** @param {(kind: string) => boolean} which */
  const without = (which) => {
    const paths = new Set(
      differences.filter(({ kind, path }) => which(kind) && before.has(path)).map(({ path }) => path),
    );
    return before.size - paths.size;
  };
  return {
    contents: without((kind) => ['missing', 'type', 'bytes', 'target'].includes(kind)),
    exact: without(() => true),
  };
}

/**
 * @param {{ workspace: string, before: Picture, scratch: string, programs: import('../picture/take.mjs').Programs }} what
 * @returns {Promise<Measured>}
 */
export async function copying({ workspace, before, scratch, programs }) {
  const [one, two] = [join(scratch, 'cp-1'), join(scratch, 'cp-2')];
  const first = await must('cp', ['-a', '-T', '--', workspace, one]);
  const bytes = await diskBytes(one);
  const again = await must('cp', ['-a', '-T', '--', workspace, two]);
  await discard(two);
  const restore = await must('cp', ['-a', '-T', '--', one, two]);
  const covered = covers(before, await take(programs, two));
  await discard(one);
  await discard(two);
  const lost = before.size - covered.exact;
  const scope = lost === 0 ? 'everything' : `all but ${lost} paths`;
  const note = `${scope}; each picture is a whole copy, and a restore replaces the root directory itself`;
  return { name: 'cp -a', firstMs: first.ms, againMs: again.ms, restoreMs: restore.ms, bytes, covers: covered, note };
}

/**
 * @param {{ workspace: string, before: Picture, scratch: string, programs: import('../picture/take.mjs').Programs }} what
 * @returns {Promise<Measured | string>} or why it cannot be measured
 */
export async function git({ workspace, before, scratch, programs }) {
  const directory = join(scratch, 'git');
  const back = join(scratch, 'git-back');
  const empty = join(scratch, 'git-home');
  for (const folder of [directory, back, empty]) mkdirSync(folder);
  // Nobody's configuration, ignore file, template or hook plays a part.
  const isolated = environment({
    GIT_DIR: directory,
    GIT_WORK_TREE: workspace,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    HOME: empty,
    XDG_CONFIG_HOME: empty,
    GIT_TEMPLATE_DIR: empty,
    // Without this, git rewrites the indexes of repositories inside the tree, which is not to change yet.
    GIT_OPTIONAL_LOCKS: '0',
  });
  const tried = await run('git', ['init', '-q'], { cwd: workspace, env: isolated }).catch(() => undefined);
  if (tried === undefined) return 'git is not installed';
  if (tried.code !== 0) return tried.stderr.trim();
  const add = 'git -c advice.addEmbeddedRepo=false add -A && git write-tree';
  const first = await run('bash', ['-c', add], { cwd: workspace, env: isolated });
  if (first.code !== 0) return `git add -A fails on this tree: ${first.stderr.trim().split('\n')[0]}`;
  const again = await bash(add, { cwd: workspace, env: isolated });
  const listed = await must('git', ['ls-files', '-z'], { cwd: workspace, env: isolated });
  const other = { ...isolated, GIT_WORK_TREE: back, GIT_INDEX_FILE: join(scratch, 'git-index') };
  const restore = await bash(`git read-tree ${first.stdout.trim()} && git checkout-index -a -q`, {
    cwd: back,
    env: other,
  });
  const covered = covers(before, await take(programs, back));
  const bytes = await diskBytes(directory);
  await discard(directory);
  await discard(back);
  const tracked = new Set(listed.stdout.split('\0').map((name) => escapeBytes(Buffer.from(name, 'latin1'))));
  return {
    name: 'git add -A, write-tree',
    firstMs: first.ms,
    againMs: again.ms,
    restoreMs: restore.ms,
    bytes,
    covers: covered,
    note: notTracked(before, tracked),
  };
}

/** @param {Picture} picture @param {Set<string>} tracked */
function notTracked(picture, tracked) {
  /** @type {Set<string>} */
  const repositories = new Set();
  /** @type {Set<string>} */
  const parents = new Set();
  for (const path of picture.keys()) {
    const slash = path.lastIndexOf('/');
    if (slash > 0) parents.add(path.slice(0, slash));
    if (path.endsWith('/.git')) repositories.add(path.slice(0, -'/.git'.length));
  }
  /** @param {string} path */
  const inside = (path) => {
    for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) {
      if (repositories.has(path.slice(0, at))) return true;
    }
    return false;
  };
  /** @type {Map<string, number>} */
  const missed = new Map();
  for (const { path, type } of picture.values()) {
    if (tracked.has(path) || path === '.') continue;
    let reason = 'ignored by .gitignore';
    if (path === '.git' || path.startsWith('.git/')) reason = 'inside .git';
    else if (inside(path)) reason = 'inside nested repositories';
    else if (type === 'directory') reason = parents.has(path) ? '' : 'empty directories';
    else if (type !== 'file' && type !== 'symlink') reason = 'fifos and other special files';
    if (reason) missed.set(reason, (missed.get(reason) ?? 0) + 1);
  }
  const parts = [...missed].sort((a, b) => b[1] - a[1]).map(([reason, n]) => `${n.toLocaleString('en-US')} ${reason}`);
  return `leaves out ${parts.join(', ') || 'no path'}; and of every path owner, mtime, modes but x, hard links, xattrs`;
}

/** Removes a tree even if it holds directories without write permission. @param {string} path */
export async function discard(path) {
  const script = 'chmod -R u+rwX -- "$1" 2>/dev/null; exec rm -rf -- "$1"';
  await run('bash', ['-c', script, 'bash', path], { last: true });
}
