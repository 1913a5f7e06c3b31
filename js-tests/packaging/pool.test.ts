// X1: which sandbox a test gets, whatever runs it. The fixtures are called as a runner calls them, so that a runner's order of things does
// not hide anything.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CopyOnWriteSandbox } from 'turnback';
import {
  type Outcome,
  type SandboxFixtures,
  type SandboxTest,
  type SandboxTestOptions,
  sandboxFixtures,
} from 'turnback/testing/vitest';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { node, picture, rejection, temporary, write } from '../node/support.js';

type Pool = SandboxFixtures['sandboxPool'];

const said: string[] = [];
const say = (line: string) => void said.push(line);
const a = (name: string, outcome: () => Outcome): SandboxTest => ({ name, outcome, say });
const passes = (name: string) => a(name, () => 'passed');
const fails = (name: string) => a(name, () => 'failed');

/** A pool as Vitest has it for a file, closed with the test. */
async function poolOf(options: SandboxTestOptions): Promise<Pool> {
  const [open] = sandboxFixtures(options).sandboxPool;
  return await new Promise((resolve, reject) => {
    const closed = open({}, async (pool) => {
      resolve(pool);
      await new Promise<void>((end) => {
        onTestFinished(async () => {
          end();
          await closed;
        });
      });
    });
    closed.catch(reject);
  });
}

function fixture(): string {
  return write(join(temporary(), 'fixture'), { 'a.txt': 'one\n', 'sub/b.txt': 'two\n' });
}

const upset = ({ path }: CopyOnWriteSandbox) => {
  rmSync(join(path, 'sub'), { recursive: true });
  writeFileSync(join(path, 'a.txt'), 'changed\n');
};

describe('a sandbox for each test', () => {
  it('is the same one, exactly rolled back, while tests run one after the other', async () => {
    const resource = fixture();
    const pool = await poolOf({ resource });
    const first = await pool.take(passes('first'));
    expect(picture(first.path)).toEqual(picture(resource));
    upset(first);
    await pool.giveBack(first);
    const second = await pool.take(passes('second'));
    expect(second).toBe(first);
    expect(picture(second.path)).toEqual(picture(resource));
  });

  it('is one for each of those that run at the same time', async () => {
    const pool = await poolOf({ resource: fixture() });
    const all = await Promise.all(['a', 'b', 'c'].map((test) => pool.take(passes(test))));
    expect(new Set(all.map(({ path }) => path)).size).toBe(3);
    for (const sandbox of all) await pool.giveBack(sandbox);
    expect(all).toContain(await pool.take(passes('d')));
  });

  it('is a new one after a test that failed, whose code may still run', async () => {
    const pool = await poolOf({ resource: fixture() });
    const first = await pool.take(fails('fails'));
    await pool.giveBack(first);
    expect(await pool.take(passes('next'))).not.toBe(first);
  });

  it('is a new one while the test before can still fail, whose tree is left as it is', async () => {
    let outcome: Outcome = 'open';
    const pool = await poolOf({ resource: fixture() });
    const first = await pool.take(a('has subtests', () => outcome));
    upset(first);
    const left = picture(first.path);
    await pool.giveBack(first);
    expect(await pool.take(passes('a subtest'))).not.toBe(first);
    expect(picture(first.path)).toEqual(left);
    outcome = 'passed';
    expect(await pool.take(passes('next'))).toBe(first);
  });

  it('is a new one after a test that failed as it was meant to', async () => {
    const pool = await poolOf({ resource: fixture(), keepOnFailure: temporary() });
    said.length = 0;
    const first = await pool.take(a('fails as it should', () => 'failedAsMeant'));
    await pool.giveBack(first);
    const next = await pool.take(passes('next'));
    expect(next).not.toBe(first);
    await pool.giveBack(next);
    expect(said).toEqual([]);
  });

  it('is a new one after a test that left something beside its root', async () => {
    const pool = await poolOf({ resource: fixture() });
    const first = await pool.take(passes('writes outside'));
    writeFileSync(join(first.path, '..', 'beside'), 'x');
    await pool.giveBack(first);
    const second = await pool.take(passes('next'));
    expect(existsSync(join(second.path, '..', 'beside'))).toBe(false);
  });

  it('is a new one where the root was replaced, and that is said', async () => {
    const pool = await poolOf({ resource: fixture() });
    const first = await pool.take(passes('replaces it'));
    rmSync(first.path, { recursive: true });
    writeFileSync(first.path, 'a file');
    said.length = 0;
    await pool.giveBack(first);
    expect(await pool.take(passes('next'))).not.toBe(first);
    expect(said).toEqual([
      expect.stringMatching(
        /^turnback: the sandbox of the test "replaces it" cannot be rolled back, the next test gets a new one: TurnbackError: /,
      ),
    ]);
  });

  it('is refused when the fixture directory is not as it was for the first test', async () => {
    const resource = fixture();
    const pool = await poolOf({ resource });
    await pool.take(passes('writes to the fixture'));
    writeFileSync(join(resource, 'a.txt'), 'by mistake\n');
    expect(await rejection(pool.take(passes('begins meanwhile')))).toMatchObject({
      code: 'CONFLICT',
      message: `the fixture directory ${resource} was changed while its tests ran (a.txt): let tests write to their sandbox only`,
    });
  });

  it('is refused also where a sandbox is free again, after a test that changed or committed to the fixture directory', async () => {
    for (const harm of [
      ({ resource }: CopyOnWriteSandbox) => writeFileSync(join(resource, 'a.txt'), 'changed\n'),
      async (sandbox: CopyOnWriteSandbox) => {
        upset(sandbox);
        expect(await sandbox.commit()).toMatchObject({ committed: true });
      },
    ]) {
      const pool = await poolOf({ resource: fixture() });
      const first = await pool.take(passes('changes the fixture'));
      await harm(first);
      await pool.giveBack(first);
      for (const name of ['next', 'after that']) {
        expect(await rejection(pool.take(passes(name)))).toMatchObject({
          code: 'CONFLICT',
          message: expect.stringMatching(/^the fixture directory .* was changed while its tests ran \(a\.txt/),
        });
      }
    }
  });

  it('is a new one after a test that committed, also where the fixture directory is as it was', async () => {
    for (const back of [
      (sandbox: CopyOnWriteSandbox) => sandbox.undoCommit(),
      async (sandbox: CopyOnWriteSandbox) => {
        await sandbox.undoCommit();
        return await sandbox.rollback();
      },
    ]) {
      const resource = fixture();
      const pool = await poolOf({ resource });
      const before = picture(resource);
      const first = await pool.take(passes('commits'));
      upset(first);
      await first.commit();
      await back(first);
      expect(picture(resource)).toEqual(before);
      await pool.giveBack(first);
      const next = await pool.take(passes('next'));
      expect(next).not.toBe(first);
      expect(picture(next.path)).toEqual(before);
    }
  });

  it('has the mechanism that was asked for', async () => {
    const { mechanism } = await (await poolOf({ resource: fixture(), mechanism: 'copy' })).take(passes('a test'));
    expect(mechanism).toBe('copy');
  });
});

describe('a fixture directory that cannot be used', () => {
  it('is named, with what to do', async () => {
    const home = temporary();
    const pool = await poolOf({ resource: join(home, 'gone') });
    const where = `(a relative one starts where the runner was started, in ${process.cwd()})`;
    const message = `the fixture directory ${home}/gone does not exist: make it, or pass another \`resource\` ${where}`;
    expect(await rejection(pool.take(passes('a test')))).toMatchObject({ code: 'NOT_FOUND', message });
    writeFileSync(join(home, 'file'), '');
    expect(await rejection((await poolOf({ resource: join(home, 'file') })).take(passes('a test')))).toMatchObject({
      code: 'NOT_A_DIRECTORY',
      message: expect.stringContaining(`the fixture directory ${home}/file is no directory: `),
    });
  });

  it('may be a URL, and nothing else than a path', () => {
    expect(() => sandboxFixtures({ resource: new URL('file:///tmp') })).not.toThrow();
    for (const resource of [new URL('https://example.org/'), '', 5, undefined]) {
      expect(() => sandboxFixtures({ resource: resource as string })).toThrowError(/^options\.resource /);
    }
    expect(() => sandboxFixtures({ resource: 'a', keepOnFailure: 1 as never })).toThrowError(
      /^options\.keepOnFailure /,
    );
  });
});

it('a Vitest whose fixtures cannot belong to a file is told of', async () => {
  const { sandbox, sandboxPool } = sandboxFixtures({ resource: 'fixture' });
  const context = { sandboxPool: sandboxPool as unknown as Pool, task: { name: 'a test' } };
  expect(await rejection(sandbox(context, async () => {}))).toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('install Vitest 3.2 or later'),
  });
});

describe('what a failed test left', () => {
  it('is kept in the directory that was named', async () => {
    const kept = join(temporary(), 'deep', 'kept');
    const pool = await poolOf({ resource: fixture(), keepOnFailure: kept });
    const sandbox = await pool.take(fails('it/../breaks: "1" ä'));
    upset(sandbox);
    const left = picture(sandbox.path);
    said.length = 0;
    await pool.giveBack(sandbox);
    const [directory = ''] = readdirSync(kept);
    expect(directory).toMatch(/^turnback-kept-it-breaks-1-ä-\w{6}$/);
    const { '.': _left, ...files } = left;
    expect(picture(join(kept, directory))).toMatchObject(files);
    expect(said).toEqual([
      `turnback: what the failed test "it/../breaks: "1" ä" left is kept in ${join(kept, directory)}`,
    ]);
  });

  it('is kept of a test that failed after it gave its sandbox back', async () => {
    const kept = temporary();
    let outcome: Outcome = 'open';
    const pool = await poolOf({ resource: fixture(), keepOnFailure: kept });
    const sandbox = await pool.take(a('a test', () => outcome));
    upset(sandbox);
    await pool.giveBack(sandbox);
    expect(readdirSync(kept)).toEqual([]);
    outcome = 'failed';
    const next = await pool.take(passes('next'));
    expect(next).not.toBe(sandbox);
    await pool.giveBack(next);
    expect(readdirSync(kept)).toEqual([expect.stringMatching(/^turnback-kept-a-test-/)]);
  });

  it('is kept of a test of which nothing is known when the file ends', async () => {
    const kept = temporary();
    const [open] = sandboxFixtures({ resource: fixture(), keepOnFailure: kept }).sandboxPool;
    await open({}, async (pool) => {
      const sandbox = await pool.take(a('a test', () => 'open'));
      await pool.giveBack(sandbox);
    });
    expect(readdirSync(kept)).toEqual([expect.stringMatching(/^turnback-kept-a-test-/)]);
  });

  it('is kept of tests that never ended, when the file ends', async () => {
    const kept = temporary();
    const spy = vi.spyOn(console, 'error').mockImplementation(say);
    onTestFinished(() => spy.mockRestore());
    const [open] = sandboxFixtures({ resource: fixture(), keepOnFailure: kept }).sandboxPool;
    await open({}, async (pool) => upset(await pool.take(a('hangs', () => 'open'))));
    expect(readdirSync(kept)).toEqual([expect.stringMatching(/^turnback-kept-hangs-/)]);
  });

  it('that cannot be kept is said, and fails nothing', async () => {
    const home = temporary();
    writeFileSync(join(home, 'file'), '');
    const pool = await poolOf({ resource: fixture(), keepOnFailure: join(home, 'file') });
    said.length = 0;
    await pool.giveBack(await pool.take(fails('fails')));
    expect(said).toEqual([
      expect.stringMatching(/^turnback: what the failed test "fails" left cannot be kept: .*EEXIST/),
    ]);
  });
});

it('in node:test a sandbox is a new one after a test that failed as it was meant to, which Node 24 brought', () => {
  const kept = temporary();
  const script = `import { sandboxPerTest } from 'turnback/testing/node-test';
    const sandboxOf = sandboxPerTest(${JSON.stringify({ resource: fixture(), keepOnFailure: kept })});
    const run = async (ended) => {
      let hook;
      const { path } = await sandboxOf({ name: 'a test', after: (given) => { hook = given; }, ...ended });
      await hook();
      return path;
    };
    const over = { passed: true, error: null, signal: { aborted: true } };
    const paths = [await run(over), await run({ ...over, error: new Error('meant') }), await run(over)];
    console.log(JSON.stringify(paths.map((path) => paths.indexOf(path))));`;
  expect(node(script).stdout).toContain('[0,0,2]');
  expect(readdirSync(kept)).toEqual([]);
});

it('what a killed run left goes with the next one (C11, S9)', async () => {
  const TMPDIR = join(temporary(), 'tmp');
  mkdirSync(TMPDIR);
  const resource = fixture();
  const script = (end: string) => `import { sandboxFixtures } from 'turnback/testing/vitest';
    const [open] = sandboxFixtures({ resource: ${JSON.stringify(resource)} }).sandboxPool;
    await open({}, async (pool) => { console.log((await pool.take({ name: 'a test', outcome: () => 'open' })).path); ${end} });`;
  const killed = node(script(`process.kill(process.pid, 'SIGKILL'); await new Promise(() => {});`), {
    env: { TMPDIR },
  });
  expect(killed.code).toBe(null);
  const path = killed.stdout.trim();
  expect(existsSync(path)).toBe(true);
  const next = node(script(''), { env: { TMPDIR } });
  expect(next).toMatchObject({ code: 0, stderr: '' });
  expect(existsSync(path)).toBe(false);
  expect(readdirSync(TMPDIR)).toEqual([]);
});
