/** Making sandboxes, finding them again, and removing those that nobody keeps (S1, S9). */
import { addon } from '../addon.js';
import { options } from '../check.js';
import { unwrap } from '../failure.js';
import type { NativeSandboxInfo } from '../native.js';
import { traced } from '../observe.js';
import { nameId } from '../options.js';
import type { Long } from '../types.js';
import { innerOf } from './base.js';
import { ATTACH, creation, STORE } from './options.js';
import { storeOr } from './own-manager.js';
import { abandonedReport, damaged, infos } from './records.js';
import {
  type AnySandbox,
  type CopyOnWriteSandbox,
  type GitWorktreeSandbox,
  type NoSandbox,
  sandboxOf,
} from './strategies.js';
import type {
  AbandonedReport,
  AttachOptions,
  DamagedSandbox,
  SandboxInfo,
  SandboxOptions,
  SandboxStoreOptions,
} from './types.js';

const NOTHING_LEFT = 'nothing is left behind';
const UNCHANGED = 'nothing was changed';

/**
 * Makes a sandbox of a directory: exactly what was asked for, or an error after which nothing of it is left (S5). It lies outside of the
 * directory, which is only read.
 *
 * @throws TurnbackError `NOT_FOUND`, `NOT_A_DIRECTORY`, `PERMISSION_DENIED`, `TOO_BROAD`, `STORE_NESTED` for the resource;
 *   `UNSUPPORTED_FILESYSTEM` for a mechanism that is not to be had; `GIT_UNSUPPORTED` for a repository that `git_worktree` does not work
 *   with; `BUSY`, `DISK_FULL`, `ABORTED`; and what `CheckpointManager.open` throws
 */
export function createSandbox(options: SandboxOptions & { strategy: 'none' }): Promise<NoSandbox>;
export function createSandbox(options: SandboxOptions & { strategy: 'git_worktree' }): Promise<GitWorktreeSandbox>;
export function createSandbox(
  options: SandboxOptions & { strategy?: 'copy_on_write' | undefined },
): Promise<CopyOnWriteSandbox>;
export function createSandbox(options: SandboxOptions): Promise<AnySandbox>;
export async function createSandbox(sandboxOptions: SandboxOptions): Promise<AnySandbox> {
  return await traced(
    'sandbox.create',
    () => ({}),
    () => create(sandboxOptions),
  );
}

async function create(sandboxOptions: SandboxOptions): Promise<AnySandbox> {
  const { request, store: given, limits } = creation(sandboxOptions);
  const store = await storeOr(given);
  const made = await store.long('making the sandbox', NOTHING_LEFT, limits, {
    start: (ticket, control) => store.native.createSandbox(request, ticket, control),
    takeBack: async (late) => {
      unwrap(await late.cleanup(false, new (addon().Ticket)(), {}));
    },
  });
  const sandbox = sandboxOf(made, store);
  const { id, strategy, mechanism, path } = sandbox;
  store.log.info({ sandboxId: id, strategy, mechanism, path }, 'sandbox made');
  return sandbox;
}

/**
 * A sandbox that was made earlier, by this process or another one, and which this process holds too from now on. As long as it is held,
 * each sandbox is one object. With `lease` it is kept for some time from now on as well, whoever lives.
 *
 * @throws TurnbackError `NOT_FOUND`, `CORRUPT` for a damaged record, `GIT_UNSUPPORTED`, `BUSY`
 */
export async function attachSandbox(id: string, attachOptions?: AttachOptions): Promise<AnySandbox> {
  const wanted = nameId('id', id);
  const { checkpoints, lease, ...limits } = options('options', ATTACH, attachOptions);
  const store = await storeOr(checkpoints);
  const found = await store.long('finding the sandbox', UNCHANGED, limits, {
    start: (ticket, control) => store.native.attachSandbox(wanted, ticket, control),
  });
  const sandbox = sandboxOf(found, store);
  // Where the object is an older one, another process may have worked on the sandbox since its last call.
  await store.call(() => innerOf(sandbox).native.refresh());
  if (lease !== undefined) await keepFor(sandbox, lease, limits);
  return sandbox;
}

/** @internal Keeps a sandbox for so long from now on, and gives the end of that time. */
export async function keepFor(sandbox: AnySandbox, detachedForMs: number, limits: Long): Promise<Date> {
  const { native, store } = innerOf(sandbox);
  const until = await store.long('the lease', 'the sandbox may be kept for longer already', limits, {
    start: (ticket, control) => native.keepFor(detachedForMs, ticket, control),
  });
  const detachedUntil = new Date(until);
  store.log.info({ sandboxId: sandbox.id, detachedUntil }, 'lease of a sandbox prolonged');
  return detachedUntil;
}

async function all(listOptions: SandboxStoreOptions | undefined, tells = false): Promise<NativeSandboxInfo[]> {
  const { checkpoints, ...limits } = options('options', STORE, listOptions);
  const store = await storeOr(checkpoints);
  const found = await store.long('the list', UNCHANGED, limits, {
    start: (ticket, control) => store.native.listSandboxes(ticket, control),
  });
  // Whoever asks for them hears of them by the answer.
  for (const { id, reason } of tells ? damaged(found) : []) {
    store.log.warn({ sandboxId: id, reason }, 'a sandbox is damaged and not listed');
  }
  return found;
}

/**
 * The sandboxes of a store, whoever made them, by id. Those that nobody works on are compared with their baseline. Damaged ones are left
 * out and logged as warnings: {@link listDamagedSandboxes} gives them.
 */
export async function listSandboxes(listOptions?: SandboxStoreOptions): Promise<SandboxInfo[]> {
  return infos(await all(listOptions, true));
}

/** @internal Both, looked at once. */
export async function listAll(
  listOptions: SandboxStoreOptions,
): Promise<{ sandboxes: SandboxInfo[]; damaged: readonly DamagedSandbox[] }> {
  const found = await all(listOptions);
  return { sandboxes: infos(found), damaged: damaged(found) };
}

/** Sandboxes whose record cannot be read. */
export async function listDamagedSandboxes(listOptions?: SandboxStoreOptions): Promise<readonly DamagedSandbox[]> {
  return damaged(await all(listOptions));
}

/**
 * Removes the sandboxes that nobody keeps and that hold nothing unsaved, with their directories and branches (S9). One that a living
 * process holds, or that is detached, is never touched.
 */
export async function cleanupAbandoned(cleanupOptions?: SandboxStoreOptions): Promise<AbandonedReport> {
  const { checkpoints, ...limits } = options('options', STORE, cleanupOptions);
  const store = await storeOr(checkpoints);
  const report = await store.long('the cleanup', 'some sandboxes may be gone already', limits, {
    start: (ticket, control) => store.native.cleanupAbandoned(ticket, control),
  });
  store.log.info({ removed: report.removed.length, kept: report.kept.length }, 'abandoned sandboxes cleaned up');
  return abandonedReport(report);
}
