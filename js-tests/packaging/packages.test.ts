// X5, and what npm users expect: the packages as they are released hold what they need and nothing else, and every entry works in an empty
// project, by import and by require, with its types; without a binary that fits, one sentence says so.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { size } from '../../scripts/lib/text.mjs';
import { Bench, BINARY_PACKAGE, type Packed, type Project, ROOT } from './project.js';

const bench = new Bench();
let packed: Packed[];
let project: Project;
beforeAll(() => {
  packed = bench.pack();
  project = bench.project('installed', packed);
  project.link('typescript', 'vitest', '@playwright/test', '@types/node');
});
afterAll(() => bench.remove());

const NAMES = ['turnback', 'turnback-policy', BINARY_PACKAGE];

/** A package's manifest, as it was installed. */
const manifest = (name: string) =>
  JSON.parse(readFileSync(join(project.root, 'node_modules', name, 'package.json'), 'utf8'));

/** Every entry of a package, as it is imported. */
const entries = (name: string): string[] =>
  Object.keys(manifest(name).exports).map((path) => `${name}${path.slice(1)}`);

describe('what is packed', () => {
  /** The most bytes of each tarball. */
  const MOST: Record<string, number> = { turnback: 340_000, 'turnback-policy': 250_000, [BINARY_PACKAGE]: 6_000_000 };

  it('is no larger than it has to be', () => {
    const sizes = packed.map(
      ({ name, bytes, unpackedBytes }) => `${name}: ${size(bytes)} packed, ${size(unpackedBytes)} unpacked`,
    );
    console.log(sizes.join('\n'));
    expect(packed.map(({ name }) => name).sort()).toEqual([...NAMES].sort());
    for (const { name, bytes } of packed) expect(bytes).toBeLessThan(MOST[name] ?? 0);
  });

  it.each(['turnback', 'turnback-policy', BINARY_PACKAGE])(
    '%s holds its licences and no sources, tests or scripts',
    (name) => {
      const files = packedFiles(name);
      expect(files).toEqual(expect.arrayContaining(['LICENSE-APACHE', 'LICENSE-MIT', 'README.md', 'package.json']));
      for (const licence of ['LICENSE-APACHE', 'LICENSE-MIT']) {
        expect(readFileSync(join(project.root, 'node_modules', name, licence))).toEqual(
          readFileSync(join(ROOT, licence)),
        );
      }
      const strange = files.filter(
        (file) =>
          !/^(dist|pkg|bin)\/|^schema\/[\w-]+\.schema\.json$|^(LICENSE-\w+|README\.md|THIRD-PARTY-NOTICES\.txt|package\.json|turnback\.node)$/.test(
            file,
          ),
      );
      expect(strange).toEqual([]);
      expect(files.filter((file) => /(?<!\.d)\.[cm]?ts$|\.rs$|\.tsbuildinfo$|\.test\./.test(file))).toEqual([]);
      expect(files.includes('turnback.node')).toBe(name === BINARY_PACKAGE);
      expect(manifest(name)).not.toHaveProperty('scripts');
      expect(manifest(name)).not.toHaveProperty('devDependencies');
    },
  );

  it('names the binary’s package in the release, and nowhere in the repository', () => {
    const { version } = manifest('turnback');
    expect(manifest('turnback').optionalDependencies).toEqual({ [BINARY_PACKAGE]: version });
    expect(manifest(BINARY_PACKAGE)).toMatchObject({ os: [process.platform], cpu: [process.arch], version });
    expect(readFileSync(join(ROOT, 'node', 'package.json'), 'utf8')).not.toContain('optionalDependencies');
    expect(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).not.toContain(`"node_modules/${BINARY_PACKAGE}"`);
  });

  it('publint finds nothing', async () => {
    for (const { file } of packed) {
      const tarball = new Uint8Array(readFileSync(file)).buffer;
      const { messages } = await publint({ pack: { tarball }, level: 'suggestion', strict: true });
      expect(messages).toEqual([]);
    }
  });

  // The packages are modules that `require()` loads: what attw has to say of resolution before `exports`, and of that, is known.
  it.each(['turnback', 'turnback-policy'])('attw finds nothing about the types of %s', async (name) => {
    const checked = await checkPackage(createPackageFromTarballData(new Uint8Array(readFileSync(packedFile(name)))));
    if (!checked.types) throw new Error(`${name} has no types`);
    expect(Object.keys(checked.entrypoints).length).toBe(entries(name).length);
    const known = ['node10 NoResolution', 'node16-cjs CJSResolvesToESM'];
    const kinds = checked.problems.map(
      (problem) => `${'resolutionKind' in problem ? problem.resolutionKind : ''} ${problem.kind}`,
    );
    expect(kinds.filter((kind) => !known.includes(kind))).toEqual([]);
  });
});

describe('in an empty project', () => {
  it.each(['turnback', 'turnback-policy'])(
    'every entry of %s is the same by import and by require, from modules and from scripts',
    (name) => {
      const script = `const entries = ${JSON.stringify(entries(name))};
      const { createRequire } = process.getBuiltinModule('node:module');
      const own = createRequire(process.cwd() + '/');
      (async () => {
        for (const entry of entries) {
          const json = entry.endsWith('.json') ? { with: { type: 'json' } } : undefined;
          const imported = Object.keys(await import(entry, json)).sort();
          const required = Object.keys(own(entry)).sort();
          console.log(JSON.stringify({ entry, imported, required: json ? ['default'] : required }));
        }
      })();`;
      for (const type of ['module', 'commonjs']) {
        const { code, stdout, output } = project.node([`--input-type=${type}`, '-e', script]);
        expect({ code, output }).toMatchObject({ code: 0 });
        const lines = stdout
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as Record<'imported' | 'required', string[]> & { entry: string });
        expect(lines.map(({ entry }) => entry)).toEqual(entries(name));
        for (const { imported, required } of lines) {
          expect(imported.length).toBeGreaterThan(0);
          expect(required).toEqual(imported);
        }
      }
    },
  );

  it('takes a checkpoint and rolls back, and the command line runs', () => {
    const script = `import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
      import { CheckpointManager } from 'turnback';
      mkdirSync('work');
      const manager = await CheckpointManager.open({ store: 'ephemeral' });
      const { checkpointId } = await manager.createCheckpoint('work', 'plan', 'manual');
      writeFileSync('work/junk', '');
      const { restored } = await manager.rollbackTo(checkpointId);
      await manager.close();
      console.log(restored, readdirSync('work').length);`;
    expect(project.node(['--input-type=module', '-e', script])).toEqual({
      code: 0,
      output: 'true 0\n',
      stdout: 'true 0\n',
    });
    expect(project.program('turnback/bin/turnback.js', ['--version']).stdout).toContain(manifest('turnback').version);
  });

  /** Checks files of `projects/types` as a project of this kind does. */
  function checked(module: string, resolution: string, ...files: string[]) {
    project.add('types');
    const kind = ['--module', module, '--moduleResolution', resolution, '--target', 'es2022', '--lib', 'es2023'];
    const options = ['--noEmit', '--strict', '--ignoreConfig', '--types', 'node', ...kind];
    return project.program('typescript/bin/tsc', [...options, ...files]);
  }
  const sound = { code: 0, output: '', stdout: '' };

  // The runners' own files do not all pass, so they are not checked here; ours are, in the next test.
  it.each([
    ['node16', 'node16'],
    ['nodenext', 'nodenext'],
    ['preserve', 'bundler'],
  ])(
    'the types of every entry work with module %s and moduleResolution %s, and fit Vitest and Playwright',
    (...kind) => {
      expect(checked(...kind, '--skipLibCheck', 'everything.mts', 'fixtures.mts')).toEqual(sound);
    },
  );

  it('the packages’ own types are sound, for modules and for CommonJS', () => {
    expect(checked('nodenext', 'nodenext', 'everything.mts', 'common.cts')).toEqual(sound);
  });
});

describe('beside other versions of what the adapters are for', () => {
  /** A package of this name and version, packed, with nothing in it: it stands for one whose adapter nobody uses. */
  function standIn(name: string, version: string): Packed {
    const directory = join(bench.home, `stand-in-${version}`, name.replace('/', '-'));
    mkdirSync(join(directory, 'package'), { recursive: true });
    writeFileSync(join(directory, 'package', 'package.json'), JSON.stringify({ name, version }));
    const file = `${directory}.tgz`;
    execFileSync('tar', ['czf', file, '-C', directory, 'package']);
    return { name, file, bytes: 0, unpackedBytes: 0 };
  }

  it.each(['0.0.1', '99.0.0', '99.0.0-beta.1'])('npm installs the package beside each of them at %s', (version) => {
    const peers = Object.keys(manifest('turnback').peerDependencies);
    expect(peers).toEqual(expect.arrayContaining(['ai', '@openai/agents', 'vitest', '@opentelemetry/api']));
    const beside = bench.project(`beside-${version}`, [...packed, ...peers.map((name) => standIn(name, version))]);
    const { code, stdout } = beside.node(['-p', "import('turnback'); require('ai/package.json').version"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${version}\n` });
    for (const name of peers)
      expect(manifest('turnback').peerDependenciesMeta).toHaveProperty([name, 'optional'], true);
  });
});

describe('X5: without a binary that fits', () => {
  const OPEN = `const { CheckpointManager, checkpointComment, isTurnbackError } = await import('turnback');
    const said = await CheckpointManager.open({ store: 'ephemeral' }).catch((error) => error);
    console.log(JSON.stringify({ ours: isTurnbackError(said), code: said.code, message: said.message, policy: checkpointComment('a') }));`;
  const binary = () => join(project.root, 'node_modules', BINARY_PACKAGE, 'turnback.node');
  let sound: Buffer;
  beforeAll(() => {
    sound = readFileSync(binary());
  });

  /** What the first native call says, with this as the binary. */
  function said(content: Uint8Array | undefined) {
    const folder = join(project.root, 'node_modules', BINARY_PACKAGE);
    const aside = join(bench.home, 'aside');
    cpSync(folder, aside, { recursive: true });
    try {
      rmSync(content === undefined ? folder : binary(), { recursive: true });
      if (content !== undefined) writeFileSync(binary(), content);
      const { code, output, stdout } = project.node(['--input-type=module', '-e', OPEN]);
      expect({ code, output }).toEqual({ code: 0, output: stdout });
      const answer = JSON.parse(stdout) as Record<'code' | 'message' | 'policy', string> & { ours: boolean };
      expect(answer).toMatchObject({ ours: true, code: 'NATIVE_BINARY_MISSING', policy: 'turnback-pre-agent-a' });
      expect(answer.message).not.toContain('\n');
      return answer.message;
    } finally {
      rmSync(folder, { recursive: true, force: true });
      cpSync(aside, folder, { recursive: true });
    }
  }

  it('its package is missing: npm installs the rest, and the sentence names it', () => {
    const without = bench.project(
      'without',
      packed.filter(({ name }) => name !== BINARY_PACKAGE),
    );
    const { code, stdout } = without.node(['--input-type=module', '-e', OPEN]);
    expect(code).toBe(0);
    const { message, ...rest } = JSON.parse(stdout);
    expect(rest).toEqual({ ours: true, code: 'NATIVE_BINARY_MISSING', policy: 'turnback-pre-agent-a' });
    expect(message).toMatch(
      new RegExp(
        `^turnback's native binary for linux ${process.arch} is missing \\(.*${BINARY_PACKAGE}.*\\): install the package again on this machine`,
      ),
    );
    const cli = without.program('turnback/bin/turnback.js', ['list']);
    expect(cli).toMatchObject({ code: 1, stdout: '' });
    expect(cli.output).toMatch(/^turnback: NATIVE_BINARY_MISSING: [^\n]*\n$/);
    expect(said(undefined)).toMatch(/ is missing /);
  });

  it.each([
    ['empty', () => Buffer.alloc(0), 'it is no ELF binary'],
    [
      'a text',
      () => Buffer.from('not a binary, and of some length that an ELF header would have as well'),
      'it is no ELF binary',
    ],
    ['cut short', () => sound.subarray(0, sound.length >> 1), `it is cut short, at ${0} of `],
    [
      'for another architecture',
      () => patched(18, process.arch === 'arm64' ? 0x3e : 0xb7),
      `it is made for ${process.arch === 'arm64' ? 'x64' : 'arm64'}`,
    ],
    ['of another word size', () => patched(4, 1), 'it is made for '],
    ['a library of something else', () => noAddon(), ''],
  ])('it is %s', (_, content, problem) => {
    const message = said(content());
    expect(message).toMatch(
      new RegExp(
        `^turnback's native binary cannot be loaded on linux ${process.arch} \\(.*turnback\\.node\\), because .*: install the package again on this machine$`,
      ),
    );
    expect(message).toContain(problem.replace('at 0 of', `at ${sound.length >> 1} of`));
  });

  it('it is of another version', () => {
    const file = join(project.root, 'node_modules', 'turnback', 'package.json');
    const own = readFileSync(file, 'utf8');
    chmodSync(file, 0o644);
    writeFileSync(file, own.replace(/"version": "[^"]*"/, '"version": "99.0.0"'));
    try {
      expect(said(sound)).toMatch(
        /because it has version \d+\.\d+\.\d+ where 99\.0\.0 is needed: install the package again/,
      );
    } finally {
      writeFileSync(file, own);
    }
  });

  /** The binary with one byte changed. */
  function patched(at: number, to: number): Buffer {
    const copy = Buffer.from(sound);
    copy[at] = to;
    return copy;
  }

  /** A library of the right kind that is no addon. */
  function noAddon(): Buffer {
    const library = Buffer.from(sound);
    // The name by which Node finds an addon's entry.
    const name = Buffer.from('napi_register_module_v1');
    for (let at = library.indexOf(name); at >= 0; at = library.indexOf(name, at)) library.write('x', at);
    return library;
  }
});

const packedFile = (name: string) => packed.find((one) => one.name === name)?.file ?? '';

/** The paths in a tarball. */
function packedFiles(name: string): string[] {
  const listed = execFileSync('tar', ['tzf', packedFile(name)], { encoding: 'utf8' });
  return listed
    .trim()
    .split('\n')
    .map((path) => path.replace(/^package\//, ''));
}
