// The tree that the demo works on: always a copy, never the user's own.
import { statfsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { size } from '../../scripts/lib/text.mjs';
import { bash, environment } from './shell.mjs';

/** Copies of the tree that exist at once: workspace, store, the peers' copies, and room to spare. */
const COPIES = 4;

/**
 * The folders that are left out of a copy of this repository: results of builds.
 * @param {string} repository @returns {string[]} names relative to it
 */
export function buildFolders(repository) {
  const folders = ['target'];
  const other = process.env.CARGO_TARGET_DIR && relative(repository, process.env.CARGO_TARGET_DIR);
  if (other && !other.startsWith('..') && !other.includes('/')) folders.push(other);
  return folders;
}

/**
 * Copies `source` to `workspace` with everything `cp -a` keeps.
 * @param {{ source: string, workspace: string, leaveOut: string[] }} what
 */
export async function copyInput({ source, workspace, leaveOut }) {
  const skipped = leaveOut.flatMap((name) => ['!', '-name', name]);
  const env = environment({ SOURCE: source, WORKSPACE: workspace });
  const excluded = leaveOut.map((name) => `--exclude='./${name}'`).join(' ');
  const measured = await bash(`cd -- "$SOURCE"; du -sk ${excluded} . | cut -f1`, { env });
  const disk = statfsSync(join(workspace, '..'));
  const free = disk.bavail * disk.bsize;
  const needed = Number(measured.stdout) * 1024 * COPIES;
  if (free < needed) {
    throw new Error(
      `the demo makes up to ${COPIES} copies of ${source}, ${size(needed)}, but only ${size(free)} are free in ${join(workspace, '..')}: free some, or set TMPDIR to a folder on a larger disk`,
    );
  }
  if (leaveOut.length === 0) {
    await bash('cp -a -T -- "$SOURCE" "$WORKSPACE"', { env });
    return;
  }
  // One cp for all entries, so that hard links between them stay links.
  const find = `find . -mindepth 1 -maxdepth 1 ${skipped.map((word) => `'${word}'`).join(' ')} -print0`;
  await bash(
    `mkdir -- "$WORKSPACE"; cd -- "$SOURCE"; mapfile -d '' -t entries < <(${find})
     cp -a -t "$WORKSPACE" -- "\${entries[@]}"; chmod --reference=. -- "$WORKSPACE"; touch -r . -- "$WORKSPACE"`,
    { env },
  );
}

/**
 * Adds one of each thing that real projects contain and that a plain copy tends to lose.
 * @param {{ workspace: string, outside: string, xattr: string }} what outside: a folder beside the workspace
 * @returns {Promise<string[]>} what this machine or file system refused
 */
export async function addOddities({ workspace, outside, xattr }) {
  const env = environment({ OUTSIDE: outside, XATTR: xattr, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' });
  const made = await bash(
    `
    mkdir 'demo oddities'; cd 'demo oddities'
    refused() { printf '%s\\n' "$1"; }
    # hard links, within one directory and across
    mkdir links empty empty/nested read-only shared sticky
    printf 'one inode, three names\\n' > links/one; ln links/one links/two; ln links/one three
    ln -s links/one link; ln -s no/such/file dangling; ln -s "$OUTSIDE" outside; ln -s . itself
    # names
    : > $'new\\nline'; : > $'tab\\tand "quotes"'; : > ' spaces '; : > '-rf'; : > 'ümlaut'; : > $'\\e[31mred'
    (: > $'not-utf8-\\xff\\xfe') 2>/dev/null || refused 'names that are not UTF-8'
    # attributes, before a mode forbids it
    "$XATTR" set user.comment 'made by a person' links/one 2>/dev/null || refused 'extended attributes'
    "$XATTR" set user.color blue empty 2>/dev/null || true
    # modes
    printf '#!/bin/sh\\n' > setuid; chmod 4755 setuid; chmod 2775 shared; chmod 1777 sticky; chmod 0400 links/two
    printf 'x' > secret; chmod 0600 secret; "$XATTR" set user.secret yes secret 2>/dev/null || true
    if [ "$(id -u)" = 0 ]; then printf 'x' > owned; chown 12345:54321 owned; chmod 0640 owned
    else refused 'files of another owner (needs root)'; fi
    # sizes
    : > zero; truncate -s 8M sparse; printf 'data in the middle' | dd of=sparse bs=1 seek=4000000 conv=notrunc status=none
    head -c 3000000 /dev/urandom > large
    mkfifo fifo
    # a repository inside, with a commit
    if command -v git >/dev/null; then
      git init -q nested --template= ; printf 'tracked\\n' > nested/file
      git -C nested add file; git -C nested -c user.name=demo -c user.email=demo@localhost commit -q -m first
    else refused 'a nested repository (git is not installed)'; fi
    # times, last
    touch -d '1965-05-05 05:05:05.000000005' secret; touch -d '2001-09-09 01:46:40.123456789' links/one zero
    printf 'keep\\n' > read-only/file; touch -h -d '2011-11-11 11:11:11.111111111' link dangling
    chmod 0555 read-only; touch -d '2012-12-12 12:12:12.121212121' read-only empty/nested empty .
    `,
    { cwd: workspace, env },
  );
  return made.stdout.split('\n').filter((line) => line !== '');
}
