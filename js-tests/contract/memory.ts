// A driver whose checkpoints are names in memory: the smallest one that keeps the contract.
import type { Driver } from 'turnback';
import { deferred } from './deferred.js';
import type { Hold, World } from './driver.js';

export async function memoryWorld(): Promise<World> {
  const published = new Map<string, string>();
  const deleted = new Set<string>();
  let made = 0;
  let failing = false;
  let gate: { reached: () => void; released: Promise<void>; ended: () => void } | undefined;

  /** The service behind the driver. It looks whether it is still wanted when it is about to publish. */
  async function make(comment: string, signal: AbortSignal): Promise<string> {
    const [held, fails] = [gate, failing];
    [gate, failing] = [undefined, false];
    held?.reached();
    try {
      await held?.released;
      if (fails) throw new Error('the disk is full');
      if (signal.aborted) throw new Error('nobody wants it any longer');
      made += 1;
      published.set(`m${made}`, comment);
      return `m${made}`;
    } finally {
      held?.ended();
    }
  }

  const driver: Driver = {
    async createCheckpoint({ comment, signal }) {
      const cancelled = () => new Error('cancelled', { cause: signal.reason });
      if (signal.aborted) throw cancelled();
      return await new Promise((resolve, reject) => {
        const onAbort = () => reject(cancelled());
        signal.addEventListener('abort', onAbort, { once: true });
        make(comment, signal)
          .finally(() => signal.removeEventListener('abort', onAbort))
          .then((checkpointId) => resolve({ checkpointId }), reject);
      });
    },
    async deleteCheckpoint(checkpointId) {
      published.delete(checkpointId);
      deleted.add(checkpointId);
    },
    isDeleted: (checkpointId) => deleted.has(checkpointId),
  };

  return {
    driver,
    sandboxId: 'memory',
    published: async () => [...published.keys()],
    hold: (): Hold => {
      const reached = deferred();
      const released = deferred();
      const ended = deferred();
      gate = { reached: reached.resolve, released: released.promise, ended: ended.resolve };
      return {
        reached: reached.promise,
        release: () => {
          released.resolve();
          return ended.promise;
        },
      };
    },
    fail: () => {
      failing = true;
    },
    close: async () => {},
  };
}
