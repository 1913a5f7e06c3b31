// X5, W9: importing costs nothing and cannot fail; a native half that is missing or wrong gives one clear sentence.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { node, PACKAGE, temporary } from './support.js';

/** The package, installed elsewhere without its binary. */
function installed(binary?: string): string {
  const home = temporary();
  const target = join(home, 'node_modules', 'turnback');
  mkdirSync(target, { recursive: true });
  for (const part of ['dist', 'bin', 'package.json'])
    cpSync(join(PACKAGE, part), join(target, part), { recursive: true });
  const policy = dirname(createRequire(import.meta.url).resolve('turnback-policy/package.json'));
  symlinkSync(policy, join(home, 'node_modules', 'turnback-policy'));
  if (binary !== undefined) writeFileSync(join(target, 'turnback.node'), binary);
  return home;
}

const OPEN = `import { CheckpointManager, isTurnbackError } from 'turnback';
  try { await CheckpointManager.open({ store: 'ephemeral' }); console.log('opened'); }
  catch (error) { console.log(JSON.stringify({ ours: isTurnbackError(error), code: error.code, message: error.message })); }`;

const POLICY = `import { shouldCheckpoint, checkpointComment, parseCheckpointComment, resolveFlag, allowedTransitions, isLegalTransition, judgeCommand, isReadOnly } from 'turnback';
  let refused; try { checkpointComment(''); } catch (error) { refused = error.code + ' ' + error.message; }
  console.log(JSON.stringify([
    shouldCheckpoint({ flagEnabled: true, turnId: 'a', lastCheckpointTurnId: null }), checkpointComment('a b'),
    parseCheckpointComment('turnback-pre-agent-a%20b'), resolveFlag({ NODE_ENV: 'production' }), allowedTransitions('PENDING'),
    isLegalTransition('PENDING', 'ACTIVE'), judgeCommand('ls; rm x'), isReadOnly('ls -la | wc -l'), refused]));`;

describe('W9: importing', () => {
  it('starts no thread and loads no native code; using the policy functions starts no thread either', () => {
    // Another module is imported first, because Node itself starts threads to read a module.
    const ran = node(
      `import { readdirSync, readFileSync } from 'node:fs';
       await import(${JSON.stringify(new URL('./warm-up.mjs', import.meta.url).href)});
       const threads = () => readdirSync('/proc/self/task').length;
       const loaded = () => readFileSync('/proc/self/maps', 'utf8').includes('turnback.node');
       const before = threads();
       const turnback = await import('turnback');
       const imported = { threads: threads() - before, loaded: loaded() };
       turnback.checkpointComment('a');
       console.log(JSON.stringify({ imported, used: { threads: threads() - before, loaded: loaded() } }));`,
    );
    expect(ran.stderr).toBe('');
    expect(JSON.parse(ran.stdout)).toEqual({
      imported: { threads: 0, loaded: false },
      used: { threads: 0, loaded: true },
    });
  });

  it('takes one file and few of Node’s own modules, and leaves nothing that keeps the process busy', () => {
    const file = readFileSync(join(PACKAGE, 'dist', 'index.js'), 'utf8');
    const imported = [...file.matchAll(/\bfrom\s*["']([.\w:/-]+)["']/g)].map(([, name]) => name);
    expect([...new Set(imported)].sort()).toEqual(['node:module', 'node:path', 'node:timers/promises', 'node:url']);
    const ran = node(
      `await import(${JSON.stringify(new URL('./warm-up.mjs', import.meta.url).href)});
       const loaded = () => process.moduleLoadList.filter((name) => name.startsWith('NativeModule '));
       const [before, busy] = [new Set(loaded()), process.getActiveResourcesInfo()];
       await import('turnback');
       const large = /stream|child_process|crypto|net|worker|http|intl/;
       console.log(JSON.stringify({
         large: loaded().filter((name) => !before.has(name) && large.test(name)),
         busy: process.getActiveResourcesInfo().length - busy.length,
       }));`,
    );
    expect(ran.stderr).toBe('');
    expect(JSON.parse(ran.stdout)).toEqual({ large: [], busy: 0 });
  });

  it('works by require() too', () => {
    const ran = node(
      `import { createRequire } from 'node:module';
       const { CheckpointManager } = createRequire(process.cwd() + '/')('turnback');
       console.log(typeof CheckpointManager.open);`,
    );
    expect(ran.stdout).toBe('function\n');
  });
});

describe('X5: without a native half', () => {
  it('a missing binary is said in one sentence, on first use', () => {
    const ran = node(OPEN, { cwd: installed() });
    expect(JSON.parse(ran.stdout)).toMatchObject({
      ours: true,
      code: 'NATIVE_BINARY_MISSING',
      message: expect.stringMatching(/is missing .*install the package again/),
    });
    expect(ran.code).toBe(0);
  });

  it('so is one that is no binary, and one of another version', () => {
    expect(JSON.parse(node(OPEN, { cwd: installed('not a binary') }).stdout)).toMatchObject({
      code: 'NATIVE_BINARY_MISSING',
      message: expect.stringMatching(/cannot be loaded on linux/),
    });
    const home = installed();
    const target = join(home, 'node_modules', 'turnback');
    cpSync(join(PACKAGE, 'turnback.node'), join(target, 'turnback.node'));
    const manifest = JSON.parse(readFileSync(join(target, 'package.json'), 'utf8'));
    writeFileSync(join(target, 'package.json'), JSON.stringify({ ...manifest, version: '99.0.0' }));
    expect(JSON.parse(node(OPEN, { cwd: home }).stdout)).toMatchObject({
      code: 'NATIVE_BINARY_MISSING',
      message: expect.stringMatching(/has version .* where 99\.0\.0 is needed/),
    });
  });

  /** What is said of a binary that `place` puts where it belongs: beside the code, or in the package for this platform. */
  function saidOf(place: (file: string) => void, more = ''): string[] {
    return ['turnback', `turnback-linux-${process.arch}-gnu`].map((name) => {
      const home = installed();
      const folder = join(home, 'node_modules', name);
      mkdirSync(folder, { recursive: true });
      const manifest = join(folder, 'package.json');
      if (!existsSync(manifest)) writeFileSync(manifest, JSON.stringify({ name, main: 'turnback.node' }));
      place(join(folder, 'turnback.node'));
      const answer = JSON.parse(node(`${more}${OPEN}`, { cwd: home }).stdout);
      expect(answer).toMatchObject({ ours: true, code: 'NATIVE_BINARY_MISSING' });
      expect(answer.message).toMatch(/^turnback's native binary [^\n]*: install the package again on this machine/);
      return answer.message.replace(/^.*because (.*): install the package again.*$/, '$1');
    });
  }

  it('what is in its place is named: a directory, a pipe, or nothing in a package that is installed', () => {
    expect(saidOf((file) => mkdirSync(file))).toEqual(['it is a directory', 'it is a directory']);
    expect(saidOf((file) => execFileSync('mkfifo', [file]))).toEqual(['it is no file', 'it is no file']);
    expect(saidOf(() => {})).toEqual([expect.stringMatching(/ is missing /), 'it is not there']);
  });

  it.each(['{}', 'null', 'undefined', '() => {}', "{ version: '0.1.0' }", '{ version: () => 7 }'])(
    'so is the addon of another package, whatever it exports: %s',
    (exported) => {
      const other = `import { createRequire } from 'node:module';
        createRequire(import.meta.url).extensions['.node'] = (module) => { module.exports = ${exported}; };`;
      const copy = (file: string) => cpSync(join(PACKAGE, 'turnback.node'), file);
      expect(saidOf(copy, other)).toEqual(Array(2).fill("it is not turnback's addon, but that of something else"));
    },
  );

  it('another platform is named', () => {
    const other = `Object.defineProperty(process, 'platform', { value: 'darwin' });`;
    const ran = node(`${other} const { CheckpointManager } = await import('turnback');
      try { await CheckpointManager.open(); } catch (error) { console.log(error.code, error.message); }`);
    expect(ran.stdout).toMatch(
      /^UNSUPPORTED_PLATFORM turnback's checkpoints work on Linux only so far, and this is darwin/,
    );
  });

  it('the policy functions give the same answers, from turnback-policy', () => {
    const without = node(POLICY, { cwd: installed() });
    const withAddon = node(POLICY);
    expect(withAddon.code).toBe(0);
    expect(JSON.parse(without.stdout)).toEqual(JSON.parse(withAddon.stdout));
  });

  it('the command line says it in one line', () => {
    const home = installed();
    const ran = node(
      `const { main } = await import(${JSON.stringify(join(home, 'node_modules/turnback/dist/cli.js'))}); process.exitCode = await main(['list']);`,
    );
    expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(ran.stderr).toMatch(/^turnback: NATIVE_BINARY_MISSING: [^\n]*\n$/);
  });
});
