/** The options of the sandbox functions, checked before they reach Rust. Every mistake names the option (S1). */
import { type Check, flag, listOf, oneOf, options, record, text, whole } from '../check.js';
import { invalidArgument } from '../errors.js';
import type { CheckpointManager } from '../manager.js';
import type { NativeCommitRequest, NativeSandboxRequest } from '../native.js';
import { LONG, nameId } from '../options.js';
import { absolute, pathBytes } from '../paths.js';
import { type OpenStore, storeOf } from '../store.js';
import type { CommitOptions, SandboxOptions, Strategy } from './types.js';

/** The most seeds. */
const SEEDS = 10_000;
/** The longest message of a commit, in bytes. */
const MESSAGE_BYTES = 1 << 20;

/** A manager's store. */
const checkpoints: Check<OpenStore> = (name, value) => {
  const store = typeof value === 'object' && value !== null ? storeOf(value as CheckpointManager) : undefined;
  if (store !== undefined) return store;
  throw invalidArgument(name, `${name} is no CheckpointManager: pass what CheckpointManager.open() gave`);
};

const lease: Check<number> = (name, value) => {
  const { detachedForMs } = options(name, { detachedForMs: whole(1) }, record(name, value));
  if (detachedForMs !== undefined) return detachedForMs;
  throw invalidArgument(
    name,
    `${name} says nothing: pass { detachedForMs }, or leave it out to hold the sandbox yourself`,
  );
};

const message: Check<string> = (name, value) => {
  const given = text(name, value);
  const bytes = Buffer.byteLength(given);
  if (given.trim() === '' || bytes > MESSAGE_BYTES) {
    throw invalidArgument(
      name,
      `${name} is blank or over ${MESSAGE_BYTES} bytes: pass a commit message, or leave it out`,
    );
  }
  if (given.includes('\0')) throw invalidArgument(name, `${name} holds a NUL character: remove it`);
  return given;
};

/** A path of the resource. What is not a path in it, the engine would refuse as well, without the option's name. */
const seedPath: Check<Buffer> = (name, value) => {
  const bytes = pathBytes(name, value);
  const names = bytes.toString('latin1').replace(/^\.\//, '').replace(/\/$/, '').split('/');
  if (names.every((one) => one !== '' && one !== '.' && one !== '..' && one.toLowerCase() !== '.git')) return bytes;
  throw invalidArgument(
    name,
    `${name} cannot be seeded: pass a path relative to the resource, without \`..\` and outside of \`.git\``,
  );
};

export const STORE = { ...LONG, checkpoints };

export const ATTACH = { ...STORE, lease };

const CREATE = {
  resource: absolute,
  strategy: oneOf('none', 'copy_on_write', 'git_worktree'),
  planId: nameId,
  mechanism: oneOf('auto', 'reflink', 'btrfs', 'copy'),
  location: absolute,
  seed: listOf(seedPath, SEEDS),
  carryChanges: flag,
  lease,
  maxFiles: whole(0),
  ...STORE,
};

export const COMMIT = {
  onConflict: oneOf('fail', 'ours', 'theirs'),
  merge: oneOf('merge', 'branch'),
  textMerge: flag,
  message,
  allowGit: flag,
  allowTrusted: flag,
  ...LONG,
};

export const CLEANUP = { force: flag, ...LONG };

/** Options that only some strategies have. What asks for nothing is no mistake. */
const ONLY: Readonly<Record<string, { of: readonly Strategy[]; unless: unknown }>> = {
  mechanism: { of: ['copy_on_write'], unless: 'auto' },
  location: { of: ['copy_on_write', 'git_worktree'], unless: undefined },
  seed: { of: ['git_worktree'], unless: undefined },
  carryChanges: { of: ['git_worktree'], unless: false },
  merge: { of: ['git_worktree'], unless: 'merge' },
  message: { of: ['git_worktree'], unless: undefined },
  allowGit: { of: ['copy_on_write'], unless: false },
};

function refuseForeign(given: object, strategy: Strategy): void {
  for (const [name, value] of Object.entries(given)) {
    const only = ONLY[name];
    if (only === undefined || only.of.includes(strategy) || value === only.unless) continue;
    if (Array.isArray(value) && value.length === 0) continue;
    throw invalidArgument(
      `options.${name}`,
      `options.${name} says nothing to a sandbox of strategy ${strategy}: leave it out, or use ${only.of.join(' or ')}`,
    );
  }
}

/** What a new sandbox is to be, as Rust takes it, and whose store is to know it. */
export function creation(given: SandboxOptions | undefined) {
  const checked = options('options', CREATE, given ?? {});
  const { signal, onProgress, strategy = 'copy_on_write', maxFiles, location } = checked;
  if (checked.resource === undefined) absolute('options.resource', undefined);
  refuseForeign(checked, strategy);
  const request: NativeSandboxRequest = {
    resource: checked.resource ?? absolute('options.resource', undefined),
    strategy,
    ...(checked.planId === undefined ? {} : { planId: checked.planId }),
    mechanism: checked.mechanism ?? 'auto',
    ...(location === undefined ? {} : { location }),
    seed: checked.seed ?? [],
    carryChanges: checked.carryChanges ?? false,
    ...(checked.lease === undefined ? {} : { detachedForMs: checked.lease }),
    ...(maxFiles === undefined ? {} : { maxFiles }),
  };
  return { request, store: checked.checkpoints, limits: { signal, onProgress } };
}

/** How to commit, as Rust takes it. */
export function commitment(given: CommitOptions | undefined, strategy: Strategy | undefined) {
  const checked = options('options', COMMIT, given);
  const { signal, onProgress } = checked;
  if (strategy !== undefined) refuseForeign(checked, strategy);
  const request: NativeCommitRequest = {
    onConflict: checked.onConflict ?? 'fail',
    branchOnly: checked.merge === 'branch',
    ...(checked.textMerge === undefined ? {} : { textMerge: checked.textMerge }),
    ...(checked.message === undefined ? {} : { message: checked.message }),
    allowGit: checked.allowGit ?? false,
    allowTrusted: checked.allowTrusted ?? false,
  };
  return { request, limits: { signal, onProgress } };
}
