// The package `turnback`, used as any program would use it. Another engine can stand in its place in a test.
import { CheckpointManager, createGuard, localDriver, runBash } from 'turnback';
import { stoppable } from './shell.mjs';

/** @typedef {{ path: string, pathBytes?: Uint8Array, kind: string, bytes?: number }} Change */
/** @typedef {{ path: string, pathBytes?: Uint8Array, reason: string }} Uncovered */
/**
 * @typedef {object} Report
 * @property {boolean} restored
 * @property {number} written
 * @property {number} deleted
 * @property {boolean} rootRecreated
 * @property {readonly Uncovered[]} kept
 * @property {readonly Uncovered[]} notRestorable
 */
/** @typedef {{ outcome: string, reason: string, protected: boolean, late: boolean, checkpointId?: string, durationMs: number }} Verdict */
/** @typedef {import('./shell.mjs').Ran & { verdict: Verdict }} Guarded ms is the command's own time, without the guard's */
/**
 * @typedef {object} Turn
 * @property {(command: string, options: { env: Record<string, string | undefined>, signal: AbortSignal }) => Promise<Guarded>} run
 *   asks the guard, then runs the command in a shell in the turn's directory
 * @property {() => Promise<string[]>} checkpoints all that guards have made in this store, by their ids
 */
/**
 * @typedef {object} Engine
 * @property {(directory: string) => Promise<string>} checkpoint gives the checkpoint's id
 * @property {(id: string) => Promise<Uncovered[]>} uncovered every path that the checkpoint does not hold, with the reason
 * @property {(id: string) => Promise<readonly Change[]>} diff from the checkpoint to now
 * @property {(id: string) => Promise<Report>} rollback
 * @property {(directory: string, turnId: string) => Turn} turn a turn of the agent, with a guard of its own
 * @property {() => Promise<void>} close
 */

/** What the guard's checkpoints are filed under. */
const PLAN = 'guard';

/**
 * How long a command may wait for its checkpoint, in milliseconds: any directory can be given, and in a huge one on a slow
 * disk the guard's usual limit may not be enough.
 */
const PATIENCE_MS = 600_000;

/** @param {string} store @returns {Promise<Engine>} */
export async function turnback(store) {
  const manager = await CheckpointManager.open({ store });
  return {
    async checkpoint(directory) {
      const checkpoint = await stoppable((signal) =>
        manager.createCheckpoint(directory, 'demo', 'pre_batch', {}, { signal }),
      );
      return checkpoint.checkpointId;
    },
    async uncovered(id) {
      const all = [];
      for await (const one of manager.coverage(id)) all.push(one);
      return all;
    },
    diff: (id) => stoppable((signal) => manager.diff(id, 'now', { signal })),
    rollback: (id) => stoppable((signal) => manager.rollbackTo(id, { git: 'exact', signal })),
    turn(directory, turnId) {
      const driver = localDriver(manager, directory, { planId: PLAN });
      // The environment may have switched checkpoints off; the demo is about them.
      const guard = createGuard({ driver, enabled: () => true, timeoutMs: PATIENCE_MS });
      return {
        run: (command, options) => guarded({ sandbox: directory, guard, turnId, command, ...options }),
        async checkpoints() {
          const ids = [];
          for (const { checkpointId, planId } of await manager.listCheckpoints()) {
            if (planId === PLAN) ids.push(checkpointId);
          }
          return ids;
        },
      };
    },
    close: () => manager.close(),
  };
}

/** @param {import('turnback').RunBashOptions} options @returns {Promise<Guarded>} */
async function guarded(options) {
  /** @type {{ stdout: Uint8Array[], stderr: Uint8Array[] }} */
  const said = { stdout: [], stderr: [] };
  const ran = await runBash({ ...options, onOutput: ({ stream, data }) => said[stream].push(data) });
  if (!ran.checkpoint) throw new Error('runBash did not say what the guard answered');
  // latin1 keeps every byte of a file name apart.
  const [stdout, stderr] = [said.stdout, said.stderr].map((chunks) => Buffer.concat(chunks).toString('latin1'));
  return {
    code: ran.exitCode ?? 1,
    stdout: String(stdout),
    stderr: String(stderr),
    ms: ran.durationMs,
    verdict: ran.checkpoint,
  };
}
