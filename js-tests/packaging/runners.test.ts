// X1: each runner runs on the packed package in an empty project, and each of its tests has a sandbox of its own that is as the fixture
// directory was, whatever the tests before it did.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Bench, type Project, type Ran } from './project.js';

const { picture } = createRequire(import.meta.url)('./projects/shared/seen.cjs') as {
  picture(root: string): Record<string, string>;
};

/** What a test of a project says of its sandbox as it begins. */
interface Seen {
  file: string;
  test: string;
  path: string;
  mechanism: string;
  pid: number;
  tree: Record<string, string>;
}

interface Runner {
  name: string;
  /** How test files of the runner end. */
  suffix: string;
  /** Whether its tests may overlap within one process. */
  overlaps: boolean;
  /** Tests of `failing` that are counted as failed, and attempts of tests. */
  failing: string[];
  run(project: Project, files: string[], env: Record<string, string>): Ran;
}

const RUNNERS: Runner[] = [
  {
    name: 'vitest',
    suffix: '.test.mjs',
    overlaps: true,
    failing: [
      'fails',
      'never ends',
      'passes and should not',
      'has a hook that fails',
      'is tried again after a hook that failed',
    ],
    run: (project, files, env) => project.program('vitest/vitest.mjs', ['run', ...files], env),
  },
  {
    name: 'node-test',
    suffix: '.test.mjs',
    overlaps: true,
    failing: ['fails', 'never ends', 'has a subtest that fails', 'fails beside it', 'has a hook that fails'],
    run: (project, files, env) => project.node(['--test', '--test-reporter=spec', ...files], env),
  },
  {
    name: 'jest',
    suffix: '.test.cjs',
    overlaps: true,
    failing: [
      'fails',
      'never ends',
      'passes and should not',
      'makes too few assertions',
      'with a hook that fails',
      'fails beside another',
    ],
    run: (project, files, env) =>
      project.program('jest/bin/jest.js', ['--testMatch', '**/*.test.cjs', '--maxWorkers=2', '--', ...files], env),
  },
  {
    name: 'playwright',
    suffix: '.spec.mjs',
    overlaps: false,
    failing: ['fails', 'never ends', 'passes and should not', 'has a fixture that fails'],
    run: (project, files, env) => project.program('@playwright/test/cli.js', ['test', ...files], env),
  },
];

const bench = new Bench();
let all: Project;
beforeAll(() => {
  all = bench.project('all', bench.pack());
  all.link('vitest', 'jest', '@playwright/test');
});
afterAll(() => bench.remove());

describe.each(RUNNERS)('turnback/testing/$name', ({ name, suffix, overlaps, failing, run }) => {
  let project: Project;
  let fixture: string;
  let before: Record<string, string>;

  beforeAll(() => {
    project = all.directory(name);
    project.add('shared');
    project.add(name);
    project.addCopy(`one${suffix}`, `two${suffix}`);
    fixture = project.addFixture();
    before = picture(fixture);
  });
  beforeEach(() => {
    rmSync(project.temporary, { recursive: true });
    mkdirSync(project.temporary);
  });

  /** Runs test files, and reads what they recorded. */
  function runs(...files: string[]): Ran & { seen: Seen[] } {
    const record = join(project.temporary, 'record');
    const ran = run(
      project,
      files.map((file) => file + suffix),
      { RECORD: record },
    );
    return { ...ran, seen: recorded(record) };
  }

  it('gives each test a sandbox that begins as the fixture directory was, in parallel workers too', () => {
    const { code, output, seen } = runs('one', 'two');
    expect({ code, output }).toMatchObject({ code: 0 });
    for (const { tree } of seen) expect(tree).toEqual(before);
    const of = (file: string) => seen.filter((one) => basename(one.file) === file + suffix);
    const tests = ['upsets', 'begins anew', ...(overlaps ? ['first', 'second', 'comes last'] : [])];
    for (const file of ['one', 'two']) {
      expect(
        of(file)
          .map(({ test }) => test)
          .sort(),
      ).toEqual([...tests].sort());
      const path = (test: string) => of(file).find((one) => one.test === test)?.path;
      // One sandbox for a file, rolled back; tests that overlap have one each.
      if (!overlaps) expect(path('upsets')).toBe(path('begins anew'));
      if (overlaps) expect(path('first')).not.toBe(path('second'));
      expect(new Set(of(file).map((one) => one.path)).size).toBe(overlaps ? 2 : 1);
    }
    const [one, two] = [of('one'), of('two')].map((lines) => new Set(lines.map(({ pid }) => pid)));
    expect(one).not.toEqual(two);
    expect(of('one').some(({ path }) => of('two').some((other) => other.path === path))).toBe(false);
    expect(picture(fixture)).toEqual(before);
    expect(project.left()).toEqual([]);
  });

  it('keeps what failed tests left where that is asked for, says where, and never gives it to another test', () => {
    const { code, output, seen } = runs('failing');
    expect(code).not.toBe(0);
    const kept = [...output.matchAll(/^.*turnback: what the failed test "(.*)" left is kept in (\S+)$/gm)];
    expect(kept.map(([, test]) => test).sort()).toEqual([...failing].sort());
    for (const [, , directory = ''] of kept) {
      const { './evidence': evidence, ...rest } = picture(directory);
      expect(evidence).toMatch(/ left\n$/);
      const { '.': _root, ...others } = before;
      expect(rest).toMatchObject(others);
    }
    expect(seen.map(({ test }) => test)).toEqual(['comes after']);
    expect(seen[0]?.tree).toEqual(before);
    expect(project.left().sort()).toEqual(kept.map(([, , directory = '']) => basename(directory)).sort());
  });

  it('says what is wrong without a fixture directory', () => {
    const { code, output } = runs('missing');
    expect(code).not.toBe(0);
    expect(output).toContain(
      `the fixture directory ${join(project.root, 'no-fixture')} does not exist: make it, or pass another`,
    );
    expect(project.left()).toEqual([]);
  });
});

it('turnback/testing/jest works in Jest with modules as well', () => {
  const project = all.directory('jest-modules');
  project.add('shared');
  project.add('jest');
  const before = picture(project.addFixture());
  const record = join(project.temporary, 'record');
  const options = ['--injectGlobals=false', '--testMatch', '**/module.test.mjs'];
  const env = { RECORD: record, NODE_OPTIONS: '--experimental-vm-modules' };
  expect(project.program('jest/bin/jest.js', options, env)).toMatchObject({ code: 0 });
  const seen = recorded(record);
  expect(seen.map(({ test }) => test)).toEqual(['upsets', 'begins anew']);
  for (const { tree } of seen) expect(tree).toEqual(before);
  expect(project.left()).toEqual([]);
});

/** What the tests of a run recorded: nothing, when none got as far. */
function recorded(file: string): Seen[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Seen);
}
