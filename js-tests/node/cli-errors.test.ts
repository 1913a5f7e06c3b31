// The command line with bad input: one line, a code, what to do next, the right exit code, and nothing lost.
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PACKAGE, picture, ROOT, temporary, turnback, UNKNOWN_ID, write } from './support.js';

function prepared() {
  const home = temporary();
  const workspace = write(join(home, 'work'), { 'a.txt': 'one\n' });
  const env = { TURNBACK_STORE: join(home, 'store'), HOME: join(home, 'home') };
  mkdirSync(env.HOME);
  const run = (...args: string[]) => turnback(args, { cwd: workspace, env });
  return { home, workspace, env, run };
}

/** One line on stderr with the code, nothing on stdout; with --json one document on stdout and nothing on stderr. */
function expectFailure(
  run: (...args: string[]) => ReturnType<typeof turnback>,
  args: string[],
  code: number,
  name: string,
): string {
  const plain = run(...args);
  expect(plain, args.join(' ')).toMatchObject({ code, stdout: '' });
  expect(plain.stderr).toMatch(new RegExp(`^turnback: ${name}: [^\\n]+\\n$`));
  expect(plain.stderr.length).toBeLessThan(700);
  expect(plain.stderr).not.toMatch(/ at .*:\d+:\d+/);
  const asJson = run(...args, '--json');
  expect(asJson).toMatchObject({ code, stderr: '' });
  expect(JSON.parse(asJson.stdout)).toMatchObject({
    error: { code: name, message: expect.any(String), retryable: expect.any(Boolean), details: expect.any(Object) },
  });
  return plain.stderr;
}

describe('wrong usage: 2', () => {
  it.each([
    [['lst'], /unknown command lst; did you mean list\?/],
    [['list', '--jsn'], /unknown option --jsn; did you mean --json\?/],
    [['--sotre', 'x', 'list'], /unknown option --sotre; did you mean --store\?/],
    [['list', '-q'], /unknown option -q; see/],
    [['show'], /show needs ID; see `turnback show --help`/],
    [['export', UNKNOWN_ID], /export needs DIR/],
    [['usage', 'x'], /takes no further argument x/],
    [['checkpoint', '--plan'], /--plan needs a value/],
    [['checkpoint', '--plan', 'a', '--plan', 'b'], /--plan is given twice/],
    [['checkpoint', '--exclude-ignored=yes'], /--exclude-ignored takes no value/],
    [['checkpoint', '--meta', 'x'], /--meta takes KEY=VALUE/],
    [['checkpoint', '--meta', 'x=1', '--meta', 'x=2'], /gives one key twice/],
    [['checkpoint', '--phase', 'soon'], /--phase is none of pre_execute/],
    [['rollback', UNKNOWN_ID, '--git', 'maybe'], /--git is none of keep, exact/],
    [['rollback'], /rollback needs either ID or --turn; see/],
    [['rollback', UNKNOWN_ID, '--turn', 't'], /rollback needs either ID or --turn; see/],
    [['rollback', UNKNOWN_ID, '--of', '.'], /--of goes with --turn/],
    [['rollback', UNKNOWN_ID, '--deadline', '5'], /--deadline is no length of time; give a number and a unit/],
    [['rollback', UNKNOWN_ID, '--deadline', '0s'], /--deadline is not a whole number from 1/],
    [['undo', UNKNOWN_ID, '--deadline', '-1s'], /--deadline (is no length of time|needs a value)/],
    [['revert', UNKNOWN_ID], /revert needs TO/],
    [['revert', UNKNOWN_ID, UNKNOWN_ID, '--on-conflict', 'mine'], /--on-conflict is none of fail, ours, theirs/],
    [['revert', UNKNOWN_ID, UNKNOWN_ID, UNKNOWN_ID], /takes no further argument/],
    [['prune', '--keep-last', '-1'], /--keep-last (is no whole number|needs a value)/],
    [['prune', '--keep-last=1.5'], /--keep-last is no whole number; give 0 or more/],
    [['prune', '--keep-within', '7'], /--keep-within is no length of time/],
    [['prune', '--keep-within', '7 days'], /--keep-within is no length of time/],
    [['prune', '--max-bytes', '2X'], /--max-bytes is no size/],
    [['prune', '--max-bytes', ''], /--max-bytes is no size/],
    [['prune', '--max-bytes', '9007199254740992'], /--max-bytes is no size/],
    [['list', '--store-cap', 'much'], /--store-cap is no size/],
    [['list', '--store-cap', '1K'], /maxBytes is not a whole number from 262144/],
    [['pin'], /pin needs ID/],
    [['delete'], /delete needs ID/],
    [['label', UNKNOWN_ID], /label needs either TEXT or --remove/],
    [['label', UNKNOWN_ID, 'x', '--remove'], /label needs either TEXT or --remove/],
    [['label', UNKNOWN_ID, ''], /TEXT has 0 bytes: it takes 1 to 200/],
    [['rollback', UNKNOWN_ID, '--path', '../x'], /relative to the workspace|no checkpoint/],
  ])('%j', (args, message) => {
    const { run, env } = prepared();
    const { code, stderr } = run(...args);
    expect(stderr).toMatch(/^turnback: [A-Z_]+: [^\n]+\n$/);
    expect(stderr).toMatch(message);
    if (!args.includes('--path')) expect(code).toBe(2);
    if (!args.includes(UNKNOWN_ID))
      expect(
        existsSync(join(env.TURNBACK_STORE, 'checkpoints')) &&
          readdirSync(join(env.TURNBACK_STORE, 'checkpoints')).length > 0,
      ).toBe(false);
  });

  it('ids that are malformed, empty or long', () => {
    const { run } = prepared();
    for (const id of ['', 'x', '0'.repeat(100_000), '../../etc', '01ARYZ6S41TSV4RRFFQ69G5FAI', 'a\nb']) {
      expectFailure(run, ['rollback', id], 2, 'INVALID_ARGUMENT');
    }
    for (const command of ['show', 'diff', 'undo', 'delete', 'verify', 'pin', 'unpin']) {
      expectFailure(run, [command, 'x'], 2, 'INVALID_ARGUMENT');
    }
    for (const command of ['show', 'diff', 'rollback', 'undo', 'delete', 'verify', 'pin', 'unpin'])
      expectFailure(run, [command, UNKNOWN_ID], 1, 'NOT_FOUND');
  });

  it('without a command the overview goes to stderr; asked for, help and version go to stdout', () => {
    const { run } = prepared();
    expect(run()).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Usage: turnback COMMAND') });
    expect(run('--help')).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('Exit codes') });
    const { version } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
    expect(run('--version')).toMatchObject({ code: 0, stdout: `${version}\n` });
    const overview = run('--help').stdout;
    for (const command of [
      'checkpoint',
      'list',
      'show',
      'diff',
      'rollback',
      'undo',
      'delete',
      'verify',
      'usage',
      'export',
      'doctor',
      'turns',
      'revert',
      'recover',
      'label',
      'pin',
      'unpin',
      'prune',
    ]) {
      expect(overview).toContain(`  ${command}`);
      expect(run(command, '--help')).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/Usage: [\s\S]*Examples:\n {2}(ID=\$\()?turnback/),
      });
    }
  });
});

describe('a directory that cannot be checkpointed', () => {
  it('missing, and not a directory', () => {
    const { run } = prepared();
    expectFailure(run, ['checkpoint', 'missing'], 1, 'NOT_FOUND');
    expectFailure(run, ['checkpoint', 'a.txt'], 1, 'NOT_A_DIRECTORY');
  });

  it('a symbolic link to a directory is resolved once', () => {
    const { home, workspace, run } = prepared();
    symlinkSync(workspace, join(home, 'link'));
    expect(JSON.parse(run('checkpoint', join(home, 'link'), '--json').stdout).workspace).toBe(workspace);
  });

  it('C16: the home directory, the root', () => {
    const { env, run } = prepared();
    expectFailure(run, ['checkpoint', env.HOME], 1, 'TOO_BROAD');
    expectFailure(run, ['checkpoint', '/'], 1, 'TOO_BROAD');
  });

  it('inside the store, or around it', () => {
    const { home, workspace, env } = prepared();
    const store = join(home, 'store');
    // The home directory lies elsewhere: a directory around it would be refused for that.
    const run = (...args: string[]) => turnback(args, { cwd: workspace, env: { ...env, HOME: '/nonexistent' } });
    run('list');
    const within = write(join(store, 'work'), { a: 'x' });
    expectFailure(run, ['checkpoint', within], 1, 'STORE_NESTED');
    expectFailure(run, ['checkpoint', home], 1, 'STORE_NESTED');
  });

  it.skipIf(!ROOT || spawnSync('setpriv', ['--version']).error !== undefined)(
    'unreadable (as another user than root; skipped where setpriv or root is missing)',
    () => {
      const { home, workspace } = prepared();
      const other = 65534;
      chmodSync(home, 0o755);
      const mine = join(home, 'closed');
      mkdirSync(mine);
      chmodSync(mine, 0o700);
      const own = join(home, 'own');
      mkdirSync(own);
      chownSync(own, other, other);
      chownSync(workspace, other, other);
      const secret = join(workspace, 'secret');
      writeFileSync(secret, 'x');
      chmodSync(secret, 0o600);
      const as = (...command: string[]) =>
        spawnSync('setpriv', [`--reuid=${other}`, `--regid=${other}`, '--clear-groups', ...command], {
          encoding: 'utf8',
          cwd: '/',
          env: { PATH: process.env.PATH, HOME: join(home, 'own', 'home'), TURNBACK_STORE: join(own, 'store') },
        });
      // First of all: the plain read must fail, or this would show nothing.
      expect(as('cat', secret).stderr).toMatch(/Permission denied/);
      expect(as('ls', mine).stderr).toMatch(/Permission denied/);
      const program = [process.execPath, join(PACKAGE, 'bin', 'turnback.js')];
      if (as(...program, '--version').status !== 0) {
        console.warn(`skipped: ${dirname(PACKAGE)} cannot be read by another user`);
        return;
      }
      const refused = as(...program, 'checkpoint', mine);
      expect(refused.stderr).toMatch(/^turnback: PERMISSION_DENIED: [^\n]+\n$/);
      expect(refused.status).toBe(1);
      const partial = as(...program, 'checkpoint', workspace);
      expect(partial.stdout).toContain('  secret  (unreadable');
      expect(partial.status).toBe(3);
    },
  );
});

describe('a store that cannot be used', () => {
  it('not ours, world-writable, a file, of a newer format', () => {
    const { home, run, env } = prepared();
    const foreign = write(join(home, 'foreign'), { 'somebody.txt': 'x' });
    expectFailure((...args) => run(...args, '--store', foreign), ['list'], 1, 'STORE_FORMAT');
    expect(readdirSync(foreign)).toEqual(['somebody.txt']);
    const open = join(home, 'open');
    mkdirSync(open);
    chmodSync(open, 0o777);
    expectFailure((...args) => run(...args, '--store', open), ['list'], 1, 'STORE_UNSAFE');
    expectFailure((...args) => run(...args, '--store', join(home, 'work/a.txt')), ['list'], 1, 'NOT_A_DIRECTORY');

    const id = run('checkpoint', '--quiet').stdout.trim();
    const format = readdirSync(env.TURNBACK_STORE).find((name) => /format/i.test(name)) ?? '';
    const file = join(env.TURNBACK_STORE, format);
    const content = readFileSync(file, 'utf8');
    writeFileSync(file, content.replace(/\d+(?=\D*$)/, '99'));
    expectFailure(run, ['checkpoint'], 1, 'STORE_FORMAT');
    writeFileSync(file, content);
    expect(run('list', '--quiet').stdout).toBe(`${id}\n`);
  });
});

describe('a store on a full disk', () => {
  /** Mounts a file system of a few megabytes; `undefined` where that is not allowed. */
  function small(): string | undefined {
    const at = temporary();
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=700', 'turnback-test', at]);
    if (mounted.status !== 0) return undefined;
    onTestFinished(() => void spawnSync('umount', ['-l', at]));
    return at;
  }

  it('gives DISK_FULL, loses nothing, and can still list and delete', ({ skip }) => {
    const disk = small();
    if (disk === undefined) return skip('mounting a small file system is not allowed here');
    const { workspace } = prepared();
    const run = (...args: string[]) =>
      turnback([...args, '--store', join(disk, 'store'), '--store-cap', '1G'], { cwd: workspace });
    const id = run('checkpoint', '--quiet').stdout.trim();
    write(workspace, { large: randomBytes(8 << 20) });
    const before = picture(workspace);
    expectFailure(run, ['checkpoint'], 1, 'DISK_FULL');
    expect(picture(workspace)).toEqual(before);
    expect(run('list', '--quiet').stdout).toBe(`${id}\n`);
    expect(run('verify').code).toBe(0);
    expectFailure(run, ['rollback', id], 1, 'DISK_FULL');
    expect(picture(workspace)).toEqual(before);
    expect(run('delete', id).code).toBe(0);
    expect(run('list', '--quiet').stdout).toBe('');
  });
});

describe('names that would move the cursor', () => {
  it('are printed escaped, everywhere', () => {
    const { home, env } = prepared();
    const workspace = join(home, 'w\u001b[31m\nx');
    write(workspace, { 'plain.txt': 'x' });
    const run = (...args: string[]) => turnback(args, { cwd: workspace, env });
    const id = run('checkpoint', '--quiet', '--meta', 'k=v\u001b\u202e').stdout.trim();
    write(workspace, { 'new\u001b[2J\nline': 'x', 'bidi\u202e': 'x' });
    execFileSync('sh', ['-c', 'printf x > "$(printf \'bytes\\377\')"'], { cwd: workspace });
    const outputs = [
      run('diff', id),
      run('show', id),
      run('list'),
      run('rollback', id, '--dry-run'),
      run('checkpoint', 'no\u001b[1m\n'),
    ];
    for (const { stdout, stderr } of outputs) expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
    expect(outputs[0]?.stdout).toContain('A new\\x1b[2J\\nline\n');
    expect(outputs[0]?.stdout).toContain('A bidi\\u{202e}\n');
    expect(outputs[0]?.stdout).toContain('A bytes\\xff\n');
    expect(outputs[1]?.stdout).toContain('metadata    k=v\\x1b\\u{202e}\n');
    const { changes } = JSON.parse(run('diff', id, '--json').stdout);
    expect(changes).toContainEqual(
      expect.objectContaining({
        path: 'bytes\\xff',
        pathBase64: Buffer.from('bytes\xff', 'latin1').toString('base64'),
      }),
    );
    expect(changes).toContainEqual(expect.objectContaining({ path: 'new\u001b[2J\nline' }));
  });
});

describe('pipes', () => {
  it('a reader that stops early is no error', () => {
    const { workspace, env, run } = prepared();
    const id = run('checkpoint', '--quiet').stdout.trim();
    write(workspace, Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`${'long'.repeat(20)}-${at}`, ''])));
    const piped = spawnSync(
      'bash',
      [
        '-c',
        `set -o pipefail; "$1" "$2" diff "$3" | head -n 1`,
        'sh',
        process.execPath,
        join(PACKAGE, 'bin', 'turnback.js'),
        id,
      ],
      {
        encoding: 'utf8',
        cwd: workspace,
        env: { ...process.env, ...env },
      },
    );
    expect(piped).toMatchObject({ status: 0, stderr: '' });
    expect(piped.stdout).toMatch(/^[A-Zm] [^\n]+\n$/);
  });

  it('no progress is written where stderr is no terminal', () => {
    const { run } = prepared();
    expect(run('checkpoint').stderr).toBe('');
  });
});
