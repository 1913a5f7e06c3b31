// The demo's proof is only worth something if the comparison sees each kind of difference (issue 2, item 3).
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { byKind, compare } from '../../demo/picture/compare.mjs';
import { escapeBytes, parse, unescapeBytes } from '../../demo/picture/parse.mjs';
import { compile, take } from '../../demo/picture/take.mjs';

const home = mkdtempSync(join(tmpdir(), 'turnback-compare-'));
const programs = compile(home);
const tree = join(home, 'tree');
const copy = join(home, 'copy');

const bash = (script: string) => execFileSync('bash', ['-euc', script], { cwd: home });
const xattrRefused = (() => {
  writeFileSync(join(home, 'probe'), '');
  const tried = spawnSync(programs.xattr, ['set', 'user.probe', 'x', join(home, 'probe')], { encoding: 'utf8' });
  return tried.status === 0 ? undefined : tried.stderr.trim();
})();
const notRoot = process.getuid?.() === 0 ? undefined : 'changing the owner of a file needs root';

beforeAll(() => {
  mkdirSync(join(tree, 'src/deep'), { recursive: true });
  mkdirSync(join(tree, 'empty'));
  writeFileSync(join(tree, 'src/a.txt'), 'hello\n');
  writeFileSync(join(tree, 'src/b.txt'), 'world\n');
  writeFileSync(join(tree, 'src/deep/c.bin'), Buffer.alloc(200_000, 7));
  for (const name of ['one', 'two', 'three']) linkOrWrite(join(tree, `link-${name}`));
  symlinkSync('src/a.txt', join(tree, 'symlink'));
  symlinkSync('nowhere', join(tree, 'dangling'));
  writeFileSync(join(tree, 'sparse'), '');
  truncateSync(join(tree, 'sparse'), 1 << 20);
  bash(`mkfifo tree/fifo; chmod 4755 tree/src/b.txt
    touch tree/$'new\\nline' tree/$'tab\\tand=semi;back\\\\slash' tree/$'invalid-\\xff\\xfe' tree/'#path' tree/ümlaut
    touch -d '2020-02-02 02:02:02.123456789' tree/src/a.txt tree/'#path' tree/$'new\\nline'; touch -d '1960-01-01 00:00:00.5' tree/src/deep`);
  if (!xattrRefused) setXattr('user.color', 'blue', join(tree, 'src/a.txt'));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

function linkOrWrite(path: string) {
  if (path.endsWith('one')) writeFileSync(path, 'linked');
  else linkSync(join(tree, 'link-one'), path);
}

function setXattr(name: string, value: string, path: string) {
  execFileSync(programs.xattr, ['set', name, value, path]);
}

/** Puts the mtime of a path back, so that only what a test planted differs. */
function keepingTime(path: string, change: () => void) {
  bash(`touch stamp; touch -h -r '${path}' stamp`);
  change();
  bash(`touch -h -r stamp '${path}'`);
}

const inCopy = (path: string) => join(copy, path);

describe('an unchanged copy', () => {
  beforeEach(freshCopy);

  test('made with cp -a compares equal', async () => {
    const before = await take(programs, tree);
    expect(compare(before, await take(programs, copy))).toEqual([]);
    expect(before.size).toBe(19);
  });

  test('is not modified by being pictured', async () => {
    const one = await take(programs, copy);
    const two = await take(programs, copy);
    expect([...two.values()]).toEqual([...one.values()]);
  });
});

function freshCopy() {
  bash('rm -rf copy; cp -a tree copy');
}

interface Plant {
  kind: string;
  what: string;
  path: string;
  plant: () => void;
  skip?: string | undefined;
}

const plants: Plant[] = [
  {
    kind: 'bytes',
    what: 'one byte, same size, same mtime',
    path: 'src/a.txt',
    plant: () => keepingTime('copy/src/a.txt', () => writeFileSync(inCopy('src/a.txt'), 'jello\n')),
  },
  {
    kind: 'bytes',
    what: 'one byte in the last block',
    path: 'src/deep/c.bin',
    plant: () =>
      keepingTime('copy/src/deep/c.bin', () =>
        bash('printf x | dd of=copy/src/deep/c.bin bs=1 seek=199999 conv=notrunc status=none'),
      ),
  },
  {
    kind: 'bytes',
    what: 'a longer sparse file',
    path: 'sparse',
    plant: () => keepingTime('copy/sparse', () => truncateSync(inCopy('sparse'), (1 << 20) + 1)),
  },
  {
    kind: 'type',
    what: 'a file that became a directory',
    path: 'src/b.txt',
    plant: () =>
      keepingTime('copy/src', () => {
        unlinkSync(inCopy('src/b.txt'));
        mkdirSync(inCopy('src/b.txt'));
      }),
  },
  {
    kind: 'type',
    what: 'a link that became a file',
    path: 'symlink',
    plant: () =>
      keepingTime('copy', () => {
        unlinkSync(inCopy('symlink'));
        writeFileSync(inCopy('symlink'), 'hello\n');
      }),
  },
  {
    kind: 'type',
    what: 'an empty directory that became a link',
    path: 'empty',
    plant: () =>
      keepingTime('copy', () => {
        rmSync(inCopy('empty'), { recursive: true });
        symlinkSync('src', inCopy('empty'));
      }),
  },
  {
    kind: 'owner',
    what: 'another group',
    path: 'src/a.txt',
    skip: notRoot,
    plant: () => chownSync(inCopy('src/a.txt'), 0, 12_345),
  },
  {
    kind: 'owner',
    what: 'another user of a directory',
    path: 'src/deep',
    skip: notRoot,
    plant: () => chownSync(inCopy('src/deep'), 12_345, 0),
  },
  { kind: 'mode', what: 'a permission', path: 'src/a.txt', plant: () => chmodSync(inCopy('src/a.txt'), 0o600) },
  { kind: 'mode', what: 'a lost set-id bit', path: 'src/b.txt', plant: () => chmodSync(inCopy('src/b.txt'), 0o755) },
  { kind: 'mode', what: 'a sticky directory', path: 'empty', plant: () => chmodSync(inCopy('empty'), 0o1755) },
  {
    kind: 'mtime',
    what: 'one nanosecond',
    path: 'src/a.txt',
    plant: () => bash("touch -d '2020-02-02 02:02:02.123456788' copy/src/a.txt"),
  },
  { kind: 'mtime', what: 'of a directory', path: 'src/deep', plant: () => utimesSync(inCopy('src/deep'), 1, 1) },
  { kind: 'mtime', what: 'of a link itself', path: 'dangling', plant: () => lutimesSync(inCopy('dangling'), 1, 1) },
  { kind: 'mtime', what: 'of the root', path: '.', plant: () => utimesSync(copy, 1, 1) },
  { kind: 'mode', what: 'of the root', path: '.', plant: () => chmodSync(copy, 0o700) },
  {
    kind: 'target',
    what: 'a link that points elsewhere',
    path: 'symlink',
    plant: () =>
      keepingTime('copy', () =>
        bash('rm copy/symlink; ln -s src/b.txt copy/symlink; touch -h -r tree/symlink copy/symlink'),
      ),
  },
  {
    kind: 'hardlinks',
    what: 'a name cut off its group',
    path: 'link-one',
    plant: () => keepingTime('copy', () => bash('cp -p copy/link-two copy/tmp; mv copy/tmp copy/link-two')),
  },
  {
    kind: 'hardlinks',
    what: 'two equal files tied together',
    path: '#path',
    plant: () => keepingTime('copy', () => bash("ln -f copy/'#path' copy/$'new\\nline'")),
  },
  {
    kind: 'xattrs',
    what: 'another value',
    path: 'src/a.txt',
    skip: xattrRefused,
    plant: () => setXattr('user.color', 'bluf', inCopy('src/a.txt')),
  },
  {
    kind: 'xattrs',
    what: 'a lost one',
    path: 'src/a.txt',
    skip: xattrRefused,
    plant: () => execFileSync(programs.xattr, ['remove', 'user.color', inCopy('src/a.txt')]),
  },
  {
    kind: 'xattrs',
    what: 'a new one on a directory',
    path: 'empty',
    skip: xattrRefused,
    plant: () => setXattr('user.new', '', inCopy('empty')),
  },
  {
    kind: 'xattrs',
    what: 'a new one on the root',
    path: '.',
    skip: xattrRefused,
    plant: () => setXattr('user.new', 'x', copy),
  },
  {
    kind: 'missing',
    what: 'a file',
    path: 'src/a.txt',
    plant: () => keepingTime('copy/src', () => unlinkSync(inCopy('src/a.txt'))),
  },
  {
    kind: 'missing',
    what: 'an empty directory',
    path: 'empty',
    plant: () => keepingTime('copy', () => rmSync(inCopy('empty'), { recursive: true })),
  },
  {
    kind: 'missing',
    what: 'one of a hard-link group',
    path: 'link-two',
    plant: () => keepingTime('copy', () => unlinkSync(inCopy('link-two'))),
  },
  {
    kind: 'missing',
    what: 'a name that is not UTF-8',
    path: 'invalid-\\xff\\xfe',
    plant: () => keepingTime('copy', () => bash("rm copy/$'invalid-\\xff\\xfe'")),
  },
  { kind: 'missing', what: 'a fifo', path: 'fifo', plant: () => keepingTime('copy', () => unlinkSync(inCopy('fifo'))) },
  {
    kind: 'extra',
    what: 'a file',
    path: 'src/new',
    plant: () => keepingTime('copy/src', () => writeFileSync(inCopy('src/new'), '')),
  },
  {
    kind: 'extra',
    what: 'an empty directory',
    path: 'src/deep/new',
    plant: () => keepingTime('copy/src/deep', () => mkdirSync(inCopy('src/deep/new'))),
  },
  {
    kind: 'extra',
    what: 'one more name of a hard-link group',
    path: 'link-four',
    plant: () => keepingTime('copy', () => linkSync(inCopy('link-one'), inCopy('link-four'))),
  },
  {
    kind: 'holes',
    what: 'a sparse file that lost its holes',
    path: 'sparse',
    plant: () => keepingTime('copy/sparse', () => writeFileSync(inCopy('sparse'), Buffer.alloc(1 << 20))),
  },
];

describe('one planted difference is found, and nothing else', () => {
  beforeEach(freshCopy);

  for (const { kind, what, path, plant, skip } of plants) {
    test(`${kind}: ${what}`, async (context) => {
      if (skip) context.skip(skip);
      plant();
      const found = compare(await take(programs, tree), await take(programs, copy));
      expect(found.map((difference) => [difference.kind, difference.path])).toEqual([[kind, path]]);
    });
  }

  test('a renamed file is one missing and one extra', async () => {
    keepingTime('copy/src', () => renameSync(inCopy('src/a.txt'), inCopy('src/z.txt')));
    const found = compare(await take(programs, tree), await take(programs, copy));
    expect(Object.fromEntries(byKind(found))).toEqual({ missing: 1, extra: 1 });
  });
});

describe('the picture', () => {
  test('reads every name back to its bytes', async () => {
    const names = [...(await take(programs, tree)).keys()].map((name) =>
      Buffer.from(unescapeBytes(name)).toString('latin1'),
    );
    const latin1 = (text: string) => Buffer.from(text, 'utf8').toString('latin1');
    expect(names).toEqual(
      expect.arrayContaining(['new\nline', 'tab\tand=semi;back\\slash', 'invalid-\xff\xfe', '#path', latin1('ümlaut')]),
    );
  });

  test('works below PATH_MAX, in a tree deeper than there are descriptors', async () => {
    const deep = join(home, 'deep');
    const name = 'd'.repeat(200);
    mkdirSync(deep);
    bash(`cd deep; for i in {1..100}; do mkdir ${name}; cd ./${name}; done; echo end > file`);
    const frugal = join(home, 'frugal');
    writeFileSync(frugal, `#!/bin/bash\nulimit -n 8\nexec '${programs.picture}' "$@"\n`, { mode: 0o755 });
    const picture = await take({ ...programs, picture: frugal }, deep);
    expect(picture.size).toBe(102);
    expect(picture.get(`${`${name}/`.repeat(100)}file`)?.type).toBe('file');
    bash('rm -rf deep');
  });

  test('fails loudly where it cannot read', async (context) => {
    if (!notRoot) context.skip('root reads everything');
    const locked = join(home, 'locked');
    mkdirSync(locked);
    writeFileSync(join(locked, 'secret'), 'x', { mode: 0 });
    await expect(take(programs, locked)).rejects.toThrow(/cannot open secret: Permission denied/);
  });

  test('fails loudly on what is no directory', async () => {
    await expect(take(programs, join(home, 'none'))).rejects.toThrow(/cannot open the directory/);
    await expect(take(programs, join(tree, 'symlink'))).rejects.toThrow(/cannot open the directory/);
  });

  test('agrees with Node on what Node can see', async () => {
    const entry = (await take(programs, tree)).get('src/b.txt');
    const stat = statSync(join(tree, 'src/b.txt'), { bigint: true });
    expect(entry).toMatchObject({
      mode: (stat.mode & 0o7777n).toString(8),
      owner: `${stat.uid}:${stat.gid}`,
      mtime: `${stat.mtimeNs / 1_000_000_000n}.${String(stat.mtimeNs % 1_000_000_000n).padStart(9, '0')}`,
      size: '6',
      sha256: 'e258d248fda94c63753607f7c4494ee0fcbe92f1a76bfdac795c9d84101eb317',
    });
  });
});

describe('the parser', () => {
  const lines = async function* (...all: string[]) {
    yield* all;
  };
  const head = '#path\ttype\tmode\tuid\tgid\tmtime\tsize\tinode\tlinks\tholes\tsha256\ttarget\txattrs';

  test('refuses what is no picture, a torn line, a path twice, an empty one', async () => {
    const root = '.\tdirectory\t0755\t0\t0\t1.000000000\t0\t1:1\t2\t0\t\t\t';
    await expect(parse(lines('hello'))).rejects.toThrow(/not a picture/);
    await expect(parse(lines(head, root.slice(0, 12)))).rejects.toThrow(/not a line of a picture/);
    await expect(parse(lines(head, root, root))).rejects.toThrow(/twice/);
    await expect(parse(lines(head))).rejects.toThrow(/empty/);
    await expect(parse(lines(head, root))).resolves.toHaveProperty('size', 1);
  });

  test('escapes and unescapes every byte', () => {
    const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    expect(unescapeBytes(escapeBytes(all))).toEqual(all);
    expect(escapeBytes(Buffer.from('a\nb=\\'))).toBe('a\\x0ab\\x3d\\x5c');
  });
});
