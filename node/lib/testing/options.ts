/** What the fixtures of all runners take, checked once where the fixture is made. */
import { fileURLToPath } from 'node:url';
import { type Check, flag, oneOf, options, whole } from '../check.js';
import { invalidArgument } from '../errors.js';
import type { Mechanism, Path } from '../index.js';
import { absolute } from '../paths.js';

/** How a test's sandbox is made. */
export interface SandboxTestOptions {
  /**
   * The fixture directory: what each test finds in its sandbox. It is only read, and must not change while the tests of a file run. A
   * relative path starts at the working directory, where the runner was started; `new URL('./fixture', import.meta.url)` starts at the file.
   */
  resource: Path | URL;
  /** How to copy: the best way that this machine has (`auto`, the default), or this one and no other (S5). */
  mechanism?: 'auto' | Exclude<Mechanism, 'worktree' | 'in_place'> | undefined;
  /**
   * Keep what a failed test made of its sandbox, as plain files, and print where: in a new directory of the temporary directory (`true`),
   * or of this one. `false` by default.
   */
  keepOnFailure?: boolean | Path | URL | undefined;
  /** Refuse a fixture directory of more files, as `TOO_BROAD`. */
  maxFiles?: number | undefined;
}

/** The same, checked. */
export interface Checked {
  readonly resource: Uint8Array;
  readonly mechanism: NonNullable<SandboxTestOptions['mechanism']>;
  /** Where to keep the trees of failed tests; `undefined` to keep none. */
  readonly keepIn: Uint8Array | 'temporary' | undefined;
  readonly maxFiles: number | undefined;
}

/** A URL of this realm or of another: Jest gives each test file globals of its own. */
function isUrl(value: unknown): value is URL {
  return typeof value === 'object' && value !== null && 'href' in value && typeof value.href === 'string';
}

const directory: Check<Buffer> = (name, value) => {
  if (!isUrl(value)) return absolute(name, value);
  if (value.protocol === 'file:') return absolute(name, fileURLToPath(value.href));
  throw invalidArgument(name, `${name} is a URL of ${value.protocol} and no directory: pass a path or a file: URL`);
};

const keep: Check<Checked['keepIn']> = (name, value) => {
  if (typeof value === 'boolean') return flag(name, value) ? 'temporary' : undefined;
  return directory(name, value);
};

const SPEC = {
  resource: directory,
  mechanism: oneOf('auto', 'reflink', 'btrfs', 'copy'),
  keepOnFailure: keep,
  maxFiles: whole(0),
};

/** @throws TurnbackError `INVALID_ARGUMENT` for options that can never be right */
export function testOptions(given: SandboxTestOptions): Checked {
  const { resource, mechanism = 'auto', keepOnFailure, maxFiles } = options('options', SPEC, given);
  return {
    resource: resource ?? directory('options.resource', undefined),
    mechanism,
    keepIn: keepOnFailure,
    maxFiles,
  };
}
