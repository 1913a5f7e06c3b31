// The packages as they are released, packed and installed into an empty project.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { layOut, ownPlatform, pack } from '../../scripts/lib/release.mjs';
import { npm } from '../../scripts/lib/tools.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
/** This repository. */
export const ROOT = join(HERE, '..', '..');
const PROJECTS = join(HERE, 'projects');

export interface Ran {
  code: number | null;
  /** Both streams, as a reader of the terminal has them. */
  output: string;
  stdout: string;
}

export interface Packed {
  name: string;
  file: string;
  bytes: number;
  unpackedBytes: number;
}

/** The name of the package with the binary of this machine. */
export const BINARY_PACKAGE = `turnback-${ownPlatform()}`;

/** What this file makes, all of it in one directory that {@link remove} removes. */
export class Bench {
  readonly home = mkdtempSync(join(tmpdir(), 'turnback-packaging-'));

  remove(): void {
    rmSync(this.home, { recursive: true, force: true });
  }

  /** The packages as `npm run pack` makes them. */
  pack(): Packed[] {
    const binaries = new Map([[ownPlatform(), join(ROOT, 'node', 'turnback.node')]]);
    const directories = layOut(ROOT, join(this.home, 'directories'), binaries);
    return directories.map((directory) => pack(directory, join(this.home, 'packed')));
  }

  /** A project with nothing in it but a package.json, and these packages installed by npm, without network. */
  project(name: string, packed: readonly Packed[]): Project {
    const root = join(this.home, name);
    mkdirSync(root);
    writeFileSync(join(root, 'package.json'), JSON.stringify({ name: 'empty', private: true }));
    const [program, args] = npm();
    const options = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund'];
    const install = [...args, 'install', ...options, ...packed.map(({ file }) => file)];
    const ran = spawnSync(program, install, { cwd: root, encoding: 'utf8' });
    if (ran.status !== 0) throw new Error(`npm install failed: ${ran.stderr}`);
    return new Project(root);
  }
}

/** A project outside of this repository. */
export class Project {
  readonly root: string;
  readonly #modules: string;
  /** The temporary directory of what runs in it. */
  readonly temporary: string;

  constructor(root: string, modules = join(root, 'node_modules')) {
    this.root = root;
    this.#modules = modules;
    this.temporary = join(root, 'tmp');
    mkdirSync(this.temporary);
  }

  /** A directory of it that is a project for a runner, with the same packages. */
  directory(name: string): Project {
    const root = join(this.root, name);
    mkdirSync(root);
    writeFileSync(join(root, 'package.json'), JSON.stringify({ name: `empty-${name}`, private: true }));
    return new Project(root, this.#modules);
  }

  /**
   * Links packages from this repository, where the lock file says their versions. Installing them would need the registry in each run of
   * the tests, and minutes.
   */
  link(...names: string[]): void {
    for (const name of names) {
      const target = join(this.#modules, name);
      mkdirSync(dirname(target), { recursive: true });
      symlinkSync(join(ROOT, 'node_modules', name), target);
    }
  }

  /** Copies the files of one of `projects/`. */
  add(name: string): void {
    cpSync(join(PROJECTS, name), this.root, { recursive: true });
  }

  addCopy(file: string, as: string): void {
    cpSync(join(this.root, file), join(this.root, as));
  }

  /** The directory that the tests of a project work on copies of. */
  addFixture(): string {
    const fixture = join(this.root, 'fixture');
    mkdirSync(join(fixture, 'sub', 'empty'), { recursive: true });
    for (const [name, mode] of [
      ['a.txt', 0o644],
      ['run.sh', 0o755],
      ['.ignored', 0o600],
      ['sub/b.txt', 0o640],
    ] as const) {
      const file = join(fixture, name);
      writeFileSync(file, `${name}\n`);
      chmodSync(file, mode);
      utimesSync(file, 1_600_000_000, 1_600_000_000);
    }
    return fixture;
  }

  node(args: readonly string[], env: Record<string, string> = {}): Ran {
    // What this runner tells its own workers must not reach others.
    const {
      NODE_OPTIONS: _options,
      VITEST: _vitest,
      NODE_ENV: _env,
      NODE_TEST_CONTEXT: _context,
      ...rest
    } = process.env;
    const ran = spawnSync(process.execPath, args, {
      cwd: this.root,
      encoding: 'utf8',
      env: { ...rest, TMPDIR: this.temporary, NO_COLOR: '1', FORCE_COLOR: '0', ...env },
    });
    if (ran.error) throw ran.error;
    return { code: ran.status, output: ran.stdout + ran.stderr, stdout: ran.stdout };
  }

  /** A program of a package that is linked. */
  program(path: string, args: readonly string[], env: Record<string, string> = {}): Ran {
    return this.node([join(this.#modules, path), ...args], env);
  }

  /** What is left of Turnback in the temporary directory. */
  left(): string[] {
    return readdirSync(this.temporary).filter((name) => name.startsWith('turnback-'));
  }
}
