/** Runs a plan in a sandbox between two checkpoints (C13). */
import { invalidArgument } from '../errors.js';
import { nameId } from '../options.js';
import type { Sandbox } from '../sandbox/types.js';
import { RunCheckpoints } from './checkpoints.js';
import { withRollback } from './failure.js';
import { type Checked, checkedSandbox, checkedSettings } from './options.js';
import type { PlanOptions } from './types.js';

/**
 * Runs plans in sandboxes. With a manager a checkpoint is taken before (`pre_execute`) and after success (`post_execute`, with the
 * metadata `status=success`), and when the plan fails its sandbox goes back to the last checkpoint that this run took: never to one
 * of an earlier run, and never to one that a guard took in between. Without a manager the plan just runs.
 *
 * It keeps nothing between runs, and runs of several plans may go on at once.
 */
export class PlanExecutor {
  readonly #settings: Checked;

  /** @throws TurnbackError `INVALID_ARGUMENT` */
  constructor(options?: PlanOptions) {
    this.#settings = checkedSettings(options);
  }

  /**
   * Runs `execute` with the sandbox's path, and gives what it gives.
   *
   * Whatever it rejects with once the sandbox is entered says with `rolledBack` whether the sandbox is what it was before; `rollback` is
   * the report, with which `undo` brings back what the plan had done; `rollbackError` is why the rollback failed. What `execute` threw is
   * thrown again, the same object; a value that can carry nothing (no object, or a frozen one) is the `cause` of an error that can.
   *
   * @throws TurnbackError `INVALID_ARGUMENT`; what entering the sandbox throws; `CHECKPOINT_REQUIRED` with `onCheckpointFailure: 'abort'`:
   *   before the plan, which then does not run, or after it, and then it is rolled back as any plan that fails
   */
  async runExecute<T>(planId: string, sandbox: Sandbox, execute: (path: string) => Promise<T> | T): Promise<T> {
    nameId('planId', planId);
    checkedSandbox(sandbox, 'enter');
    if (typeof execute !== 'function') throw invalidArgument('execute', 'execute is no function: pass one');
    const path = await sandbox.enter();
    const checkpoints = new RunCheckpoints(this.#settings, planId, sandbox);
    try {
      await checkpoints.take('pre_execute');
    } catch (error) {
      throw withRollback(error, { rolledBack: false });
    }
    let result: T;
    try {
      result = await execute(path);
    } catch (failure) {
      throw withRollback(failure, await checkpoints.rollBack({ err: failure }));
    }
    try {
      await checkpoints.take('post_execute', { status: 'success' });
    } catch (error) {
      throw withRollback(error, await checkpoints.rollBack({ err: error }, 'told'));
    }
    return result;
  }
}
