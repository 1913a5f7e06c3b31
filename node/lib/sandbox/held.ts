import type { OpenStore } from '../store.js';
import type { BaseSandbox } from './base.js';

/**
 * The sandboxes that this process works with, by store and id. They are held until they are cleaned up, whether the caller keeps the
 * object or not: their lease must not end when the garbage collector happens to run (S9). And one sandbox is one object, so that calls on
 * it are in order.
 */
const held = new Map<OpenStore, Map<string, BaseSandbox>>();

export function heldSandbox(store: OpenStore, id: string): BaseSandbox | undefined {
  return held.get(store)?.get(id);
}

export function hold(store: OpenStore, sandbox: BaseSandbox): void {
  const own = held.get(store) ?? new Map<string, BaseSandbox>();
  held.set(store, own.set(sandbox.id, sandbox));
}

export function letGo(store: OpenStore, id: string): void {
  const own = held.get(store);
  if (own?.delete(id) && own.size === 0) held.delete(store);
}
