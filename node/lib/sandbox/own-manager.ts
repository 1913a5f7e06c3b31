import { CheckpointManager } from '../manager.js';
import { type OpenStore, storeOf } from '../store.js';

/** Managers of the user's own store, by what decides which one that is. */
const opened = new Map<string, Promise<CheckpointManager>>();

/**
 * The manager for calls that name none. It is opened once and stays open until the process ends: sandboxes come and go, and what is
 * open keeps no process from ending, having neither timers nor sockets.
 */
async function ownManager(): Promise<CheckpointManager> {
  const { TURNBACK_STORE, XDG_STATE_HOME, HOME } = process.env;
  const key = JSON.stringify([TURNBACK_STORE, XDG_STATE_HOME, HOME]);
  const known = opened.get(key);
  if (known !== undefined) return await known;
  const opening = CheckpointManager.open();
  opened.set(key, opening);
  try {
    return await opening;
  } catch (error) {
    opened.delete(key);
    throw error;
  }
}

/** The store that was given, or the user's own. */
export async function storeOr(given: OpenStore | undefined): Promise<OpenStore> {
  if (given !== undefined) return given;
  const own = storeOf(await ownManager());
  if (own === undefined) throw new TypeError('a manager of this package has no store');
  return own;
}
