/** Brings a plan's changes into the resource (C14). */
import { nameId } from '../options.js';
import type { CommitOptions, CommitReport, Sandbox } from '../sandbox/types.js';
import { RunCheckpoints } from './checkpoints.js';
import { withRollback } from './failure.js';
import { type Checked, checkedSandbox, checkedSettings } from './options.js';
import type { ApplyReport, PlanOptions } from './types.js';

/**
 * Commits sandboxes. With a manager a checkpoint of the sandbox is taken before (`pre_apply`), and when the commit fails or meets
 * conflicts the sandbox goes back to it. The resource needs none of it: a commit is all or nothing by itself (S6). Without a manager the
 * sandbox is just committed.
 *
 * It keeps nothing between calls, and several sandboxes may be applied at once.
 */
export class PlanApplyService {
  readonly #settings: Checked;

  /** @throws TurnbackError `INVALID_ARGUMENT` */
  constructor(options?: PlanOptions) {
    this.#settings = checkedSettings(options);
  }

  /**
   * Commits the sandbox, with the options of its own `commit`.
   *
   * A commit that met conflicts and wrote nothing gives its report, with `committed: false`, and with `rolledBack` and `rollback` as an
   * error has them: {@link PlanExecutor.runExecute} says what they mean.
   *
   * @throws TurnbackError `INVALID_ARGUMENT`; `CHECKPOINT_REQUIRED` with `onCheckpointFailure: 'abort'`, and nothing is committed; what
   *   the commit throws
   */
  async apply(planId: string, sandbox: Sandbox, options?: CommitOptions): Promise<ApplyReport> {
    nameId('planId', planId);
    checkedSandbox(sandbox, 'commit');
    const checkpoints = new RunCheckpoints(this.#settings, planId, sandbox);
    try {
      await checkpoints.take('pre_apply');
    } catch (error) {
      throw withRollback(error, { rolledBack: false });
    }
    let report: CommitReport;
    try {
      report = await sandbox.commit(options);
    } catch (failure) {
      throw withRollback(failure, await checkpoints.rollBack({ err: failure }));
    }
    if (report.committed) return Object.freeze({ ...report, rolledBack: false });
    const rolled = await checkpoints.rollBack({ conflicts: report.conflicts.length });
    return Object.freeze({ ...report, ...rolled });
  }
}
