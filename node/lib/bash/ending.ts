import { setTimeout as pause } from 'node:timers/promises';
import { LIMITS } from './limits.js';
import type { Tree } from './tree.js';

/** The longest pause between two looks, in milliseconds. */
const MOST_PAUSE_MS = 100;

/**
 * Ends a tree: SIGTERM, a short grace, then SIGKILL for as long as something is found. Returns when nothing lives, or when
 * what is left cannot be ended (it hangs in the kernel, or is another user's) and the time for it is over: `left` tells.
 */
export async function end(tree: Tree): Promise<void> {
  tree.signal('SIGTERM');
  if (await gone(tree, LIMITS.graceMs)) return;
  const until = performance.now() + LIMITS.killMs;
  do {
    tree.signal('SIGKILL');
    if (await gone(tree, MOST_PAUSE_MS)) return;
  } while (performance.now() < until);
}

async function gone(tree: Tree, limitMs: number): Promise<boolean> {
  const until = performance.now() + limitMs;
  for (let pauseMs = 5; ; pauseMs = Math.min(2 * pauseMs, MOST_PAUSE_MS)) {
    if (!tree.alive()) return true;
    const left = until - performance.now();
    if (left <= 0) return false;
    await pause(Math.min(pauseMs, left));
  }
}
