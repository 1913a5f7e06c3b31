// The package `turnback`, used as any program would use it. Another engine can stand in its place in a test.
import { CheckpointManager } from 'turnback';

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
/**
 * @typedef {object} Engine
 * @property {(directory: string) => Promise<string>} checkpoint gives the checkpoint's id
 * @property {(id: string) => Promise<Uncovered[]>} uncovered every path that the checkpoint does not hold, with the reason
 * @property {(id: string) => Promise<readonly Change[]>} diff from the checkpoint to now
 * @property {(id: string) => Promise<Report>} rollback
 * @property {() => Promise<void>} close
 */

/** @param {string} store @returns {Promise<Engine>} */
export async function turnback(store) {
  const manager = await CheckpointManager.open({ store });
  return {
    async checkpoint(directory) {
      const checkpoint = await manager.createCheckpoint(directory, 'demo', 'pre_batch');
      return checkpoint.checkpointId;
    },
    async uncovered(id) {
      const all = [];
      for await (const one of manager.coverage(id)) all.push(one);
      return all;
    },
    diff: (id) => manager.diff(id, 'now'),
    rollback: (id) => manager.rollbackTo(id, { git: 'exact' }),
    close: () => manager.close(),
  };
}
