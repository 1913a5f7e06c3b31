/** The sandboxes of plans (S11). */
import { options } from '../check.js';
import { invalidArgument, isTurnbackError, TurnbackError } from '../errors.js';
import type { NativeSandboxManager } from '../native.js';
import { LONG, nameId } from '../options.js';
import { beginRestore, type Outcome } from '../restores.js';
import type { OpenStore } from '../store.js';
import type { Long, RollbackReport } from '../types.js';
import { beginCommit, innerOf, perhapsCommitted } from './base.js';
import { CLEANUP, commitment, creation, STORE } from './options.js';
import { storeOr } from './own-manager.js';
import { commitReport } from './records.js';
import { type AnySandbox, sandboxOf } from './strategies.js';
import { awaited } from './turns.js';
import type { CommitOptions, CommitReport, SandboxOptions, SandboxStoreOptions } from './types.js';

const { checkpoints } = STORE;

/**
 * Holds the sandboxes of plans for this process: one for each resource of a plan, made when it is first asked for (S11). All of them are of
 * one store.
 */
export class SandboxManager {
  #given: OpenStore | undefined;
  #plans: Promise<{ store: OpenStore; native: NativeSandboxManager }> | undefined;

  /**
   * @param managerOptions `checkpoints` says whose store; without it, it is that of the first `getOrCreate`, or else the user's own
   * @throws TurnbackError `INVALID_ARGUMENT`
   */
  constructor(managerOptions?: Pick<SandboxStoreOptions, 'checkpoints'>) {
    this.#given = options('options', { checkpoints }, managerOptions).checkpoints;
  }

  /**
   * The plan's sandbox of a resource; made when there is none, or when the last one was cleaned up. `planId` in the options gives way to
   * the first argument. One that is there is given only where it isolates as asked: it has the `strategy` of the options, and the
   * `mechanism` unless that is `auto` (F19, S5). The other options count only when one is made.
   *
   * @throws TurnbackError what `createSandbox` throws; `INVALID_ARGUMENT` for another store than before, and when the plan holds a sandbox of
   *   another strategy or mechanism, which the message names
   */
  async getOrCreate(planId: string, sandboxOptions: SandboxOptions): Promise<AnySandbox> {
    const plan = nameId('planId', planId);
    const { request, store: asked, limits } = creation(sandboxOptions);
    if (asked !== undefined && this.#plans === undefined) this.#given ??= asked;
    const { store, native } = await this.#opened();
    if (asked !== undefined && asked !== store) {
      throw invalidArgument(
        'options.checkpoints',
        'options.checkpoints is another one than before: the sandboxes of one SandboxManager share a CheckpointManager',
      );
    }
    const found = await store.long('making the sandbox', 'if it was made, it stays with the plan', limits, {
      start: (ticket, control) => native.getOrCreate(plan, request, ticket, control),
    });
    return sandboxOf(found, store);
  }

  /**
   * Commits all sandboxes of a plan, or none, in the order of their resources. Conflicts are looked for before the first one is written;
   * with some, the reports say so, all of them with `committed: false`. When one fails all the same, those before it are taken back. If
   * the process dies in the middle, the next call of any process on the store's sandboxes does that.
   *
   * @throws TurnbackError `NOT_UNDOABLE` before anything is written when one of several is of strategy `none`, whose writes cannot be taken
   *   back; the error of the one that failed. `details.undone` names the sandboxes that were taken back, `details.notUndone` those that
   *   stay committed, because their resource was changed meanwhile: `CONFLICT`, also for an earlier call that was cut short
   */
  async commitAll(planId: string, commitOptions?: CommitOptions): Promise<readonly CommitReport[]> {
    const plan = nameId('planId', planId);
    const { request, limits } = commitment(commitOptions, undefined);
    const { store, native } = await this.#opened();
    const sandboxes = await this.#of(plan);
    const ends: (() => void)[] = [];
    // What is taken back is a restore of the resource: guards hear of it (G8).
    const restores = sandboxes.map(() => beginRestore());
    let outcome: Outcome = { wrote: false };
    try {
      for (const sandbox of sandboxes) ends.push(beginCommit(innerOf(sandbox)));
      const turns = sandboxes.map((sandbox) => innerOf(sandbox).turns.take());
      ends.push(...turns.map((turn) => turn.leave));
      await awaited(Promise.all(turns.map(({ ready }) => ready)), 'the commit', limits.signal);
      const ids = await Promise.all(sandboxes.map((sandbox) => innerOf(sandbox).resourceId()));
      for (const [at, restore] of restores.entries()) restore.of(ids[at]);
      outcome = { wrote: true, whole: false, undoCheckpointId: undefined };
      const reports = await store.long('the commit', perhapsCommitted, limits, {
        start: (ticket, control) => native.commitAll(plan, request, ticket, control),
        writes: 'sandbox',
      });
      if (reports.every(({ committed }) => committed)) outcome = { wrote: false };
      return Object.freeze(reports.map(commitReport));
    } finally {
      for (const { over } of restores) over(outcome);
      for (const end of ends) end();
      // Only what is shown as their status depends on it: a store that was closed meanwhile is no failure of the commit.
      await Promise.allSettled(sandboxes.map((sandbox) => store.call(() => innerOf(sandbox).native.refresh())));
    }
  }

  /**
   * Puts all sandboxes of a plan back to their baselines, in the order of their resources. All are tried.
   *
   * @throws TurnbackError that of the first one that failed; `details.failed` has the `sandboxId`, `code` and `message` of each, and
   *   `details.reports` what the others say
   */
  async rollbackAll(planId: string, rollbackOptions?: Long): Promise<readonly RollbackReport[]> {
    const given = options('options', LONG, rollbackOptions);
    return await forAll(await this.#of(nameId('planId', planId)), (sandbox) => sandbox.rollback(given));
  }

  /**
   * Cleans up all sandboxes of a plan. All are tried; those that refuse stay with the plan. With `force` a checkpoint of what is unsaved in
   * them is stored first.
   *
   * @throws TurnbackError as `rollbackAll`; `UNSAVED_WORK`
   */
  async cleanupAll(planId: string, cleanupOptions?: { force?: boolean | undefined } & Long): Promise<void> {
    const given = options('options', CLEANUP, cleanupOptions);
    const plan = nameId('planId', planId);
    const { store, native } = await this.#opened();
    const sandboxes = (await this.#of(plan)).filter(({ status }) => status !== 'CLEANED_UP');
    try {
      await forAll(sandboxes, (sandbox) => sandbox.cleanup(given));
    } finally {
      await store.call(() => native.forget(plan));
    }
  }

  #opened() {
    this.#plans ??= storeOr(this.#given).then((store) => ({ store, native: store.native.sandboxManager() }));
    return this.#plans;
  }

  async #of(plan: string): Promise<AnySandbox[]> {
    const { store, native } = await this.#opened();
    const found = await store.call(() => native.ofPlan(plan));
    return found.map((one) => sandboxOf(one, store));
  }
}

/** Does it to all, one after the other. */
async function forAll<T>(
  sandboxes: readonly AnySandbox[],
  work: (sandbox: AnySandbox) => Promise<T>,
): Promise<readonly T[]> {
  const reports: T[] = [];
  const failed: { sandboxId: string; error: unknown }[] = [];
  for (const sandbox of sandboxes) {
    try {
      reports.push(await work(sandbox));
    } catch (error) {
      failed.push({ sandboxId: sandbox.id, error });
    }
  }
  const first = failed[0]?.error;
  if (failed.length === 0) return Object.freeze(reports);
  if (!isTurnbackError(first)) throw first;
  const each = failed.map(({ sandboxId, error }) =>
    Object.freeze({
      sandboxId,
      code: isTurnbackError(error) ? error.code : 'IO',
      message: error instanceof Error ? error.message : String(error),
    }),
  );
  throw new TurnbackError(first.code, first.message, {
    retryable: first.retryable,
    details: { ...first.details, failed: Object.freeze(each), reports: Object.freeze(reports) },
    cause: first,
  });
}
