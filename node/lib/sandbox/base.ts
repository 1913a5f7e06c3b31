import { options } from '../check.js';
import { invalidArgument, isTurnbackError, TurnbackError } from '../errors.js';
import type { Known } from '../given-up.js';
import type { NativeSandbox } from '../native.js';
import { traceMethod } from '../observe.js';
import { LONG } from '../options.js';
import { absolute, type Path } from '../paths.js';
import type { SandboxStatus } from '../policy.js';
import * as records from '../records.js';
import { outcomeOf, restoring, told } from '../restoring.js';
import type { OpenStore } from '../store.js';
import type { Change, Long, RollbackReport } from '../types.js';
import { letGo } from './held.js';
import { CLEANUP, commitment } from './options.js';
import { cleanupReport, commitReport, mechanism, texts } from './records.js';
import { Turns } from './turns.js';
import type { CleanupReport, CommitOptions, CommitReport, Mechanism, Sandbox, Strategy } from './types.js';

/** @internal What a sandbox is made of, for those who work on several of them at once. */
export interface Inner {
  readonly native: NativeSandbox;
  readonly store: OpenStore;
  readonly turns: Turns;
  /** A commit is under way, or waits for its turn. */
  committing: boolean;
  /** The id under which the checkpoints of its resource stand. */
  resourceId(): Promise<string>;
}

/** @internal What a sandbox is made of. */
export let innerOf: (sandbox: BaseSandbox) => Inner;

/** What became of a commit that was given up. */
export function perhapsCommitted({ pending }: Known): string {
  const rest = 'what was written stays, and the next call on the sandbox finishes it';
  if (pending === undefined) return `if it had begun to write, ${rest}`;
  return pending === true ? rest : 'nothing was written';
}

/** @internal The one who commits; nobody else may until it is given back. */
export function beginCommit(inner: Inner): () => void {
  if (inner.committing) {
    throw new TurnbackError(
      'BUSY',
      'another commit of this sandbox is under way: wait for it, then commit again if anything changed since',
      { retryable: true },
    );
  }
  inner.committing = true;
  return () => {
    inner.committing = false;
  };
}

/** What is the same for sandboxes of all strategies. `createSandbox` makes them. */
export abstract class BaseSandbox implements Sandbox {
  readonly id: string;
  readonly checkpointsId: string;
  readonly resource: string;
  readonly strategy: Strategy;
  readonly mechanism: Mechanism;
  declare readonly planId?: string;
  readonly path: string;
  declare readonly pathBytes?: Uint8Array;
  readonly writablePaths: readonly string[];
  readonly #inner: Inner;

  static {
    innerOf = (sandbox) => sandbox.#inner;
  }

  /** @internal */
  constructor(native: NativeSandbox, store: OpenStore) {
    if (typeof native !== 'object' || native === null || store === undefined) {
      throw invalidArgument('native', 'a sandbox cannot be made with `new`: use createSandbox()');
    }
    const { planId, path, resource } = native;
    const resourceBytes = resource.bytes ?? Buffer.from(resource.text);
    const resourceId = () => store.call(() => store.native.sandboxIdOf(resourceBytes));
    this.#inner = { native, store, turns: new Turns(), committing: false, resourceId };
    this.id = native.id;
    this.checkpointsId = native.checkpointsId;
    this.resource = resource.text;
    this.strategy = native.strategy as Strategy;
    this.mechanism = mechanism(native.strategy, native.mechanism);
    if (planId !== null && planId !== undefined) this.planId = planId;
    this.path = path.text;
    if (path.bytes !== undefined) this.pathBytes = path.bytes;
    this.writablePaths = texts(native.writablePaths);
  }

  get status(): SandboxStatus {
    return this.#inner.native.status as SandboxStatus;
  }

  async enter(): Promise<string> {
    const { native, store } = this.#inner;
    await this.#inTurn('entering the sandbox', {}, () => store.call(() => native.enter()));
    return this.path;
  }

  contains(path: Path): boolean {
    return this.#inner.native.contains(absolute('path', path));
  }

  async changes(changesOptions?: Long): Promise<readonly Change[]> {
    const given = options('options', LONG, changesOptions);
    const { native, store } = this.#inner;
    const found = await this.#inTurn('the comparison', given, () =>
      store.long('the comparison', 'nothing was changed', given, {
        start: (...control) => native.changes(...control),
      }),
    );
    return records.changes(found);
  }

  async commit(commitOptions?: CommitOptions): Promise<CommitReport> {
    const { request, limits } = commitment(commitOptions, this.strategy);
    const { native, store } = this.#inner;
    const over = beginCommit(this.#inner);
    try {
      const done = await this.#inTurn('the commit', limits, () =>
        store.long('the commit', perhapsCommitted, limits, {
          start: (...control) => native.commit(request, ...control),
          writes: 'sandbox',
        }),
      );
      const report = commitReport(done);
      const { committed, changes, conflicts, heldBack } = report;
      store.log.info(
        {
          sandboxId: this.id,
          committed,
          changes: changes.length,
          conflicts: conflicts.length,
          heldBack: heldBack.length,
        },
        committed ? 'committed' : 'not committed',
      );
      return report;
    } finally {
      over();
    }
  }

  async undoCommit(undoOptions?: Long): Promise<RollbackReport> {
    const given = options('options', LONG, undoOptions);
    const { native, store, resourceId } = this.#inner;
    const report = await this.#inTurn('the undo', given, () =>
      restoring(
        resourceId,
        (afterwards) =>
          store.long('the undo', afterwards, given, {
            start: (...control) => native.undoCommit(...control),
            writes: 'sandbox',
          }),
        // It takes back one commit, and leaves what others did.
        (done) => outcomeOf(done, false),
      ),
    );
    return told(store, report, 'commit undone');
  }

  async rollback(rollbackOptions?: Long): Promise<RollbackReport> {
    const given = options('options', LONG, rollbackOptions);
    const { native, store } = this.#inner;
    const report = await this.#inTurn('the rollback', given, () =>
      restoring(
        async () => this.checkpointsId,
        (afterwards) =>
          store.long('the rollback', afterwards, given, {
            start: (...control) => native.rollback(...control),
            writes: 'sandbox',
          }),
        (done) => outcomeOf(done, true),
      ),
    );
    return told(store, report, 'sandbox rolled back');
  }

  async cleanup(cleanupOptions?: { force?: boolean | undefined } & Long): Promise<CleanupReport> {
    const { force = false, ...given } = options('options', CLEANUP, cleanupOptions);
    const { native, store } = this.#inner;
    const done = await this.#inTurn('the cleanup', given, () =>
      store.long('the cleanup', 'some files may be gone already: call cleanup() again', given, {
        start: (...control) => native.cleanup(force, ...control),
        writes: 'sandbox',
      }),
    );
    letGo(store, this.id);
    const report = cleanupReport(done);
    store.log.info({ sandboxId: this.id, ...report }, 'sandbox cleaned up');
    return report;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.cleanup();
    } catch (error) {
      const isGone = isTurnbackError(error) && error.code === 'ILLEGAL_TRANSITION' && this.status === 'CLEANED_UP';
      if (!isGone) throw error;
    }
  }

  /** Calls are in the order in which they were made: the place is taken at once. */
  #inTurn<T>(what: string, { signal }: Long, work: () => Promise<T>): Promise<T> {
    const { store, turns } = this.#inner;
    store.usable();
    return turns.run(what, signal, work);
  }
}

const itself = (sandbox: BaseSandbox) => ({ sandboxId: sandbox.id, store: innerOf(sandbox).store.path });
traceMethod(BaseSandbox.prototype, 'changes', 'sandbox.changes', itself);
traceMethod(BaseSandbox.prototype, 'commit', 'sandbox.commit', itself);
traceMethod(BaseSandbox.prototype, 'undoCommit', 'sandbox.undo_commit', itself);
traceMethod(BaseSandbox.prototype, 'rollback', 'sandbox.rollback', itself);
traceMethod(BaseSandbox.prototype, 'cleanup', 'sandbox.cleanup', itself);
