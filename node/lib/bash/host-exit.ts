import type { Tree } from './tree.js';

const running = new Set<Tree>();

function endAll(): void {
  for (const tree of running) {
    try {
      tree.signal('SIGKILL');
    } catch {
      // The process ends, and nobody hears of it any more: the others must still be ended.
    }
  }
}

/**
 * Lets a tree end with this process: its session is its own, so that nothing else would. Does not help when this process is
 * killed. Gives the function that takes it back.
 */
export function endWithHost(tree: Tree): () => void {
  if (running.size === 0) process.on('exit', endAll);
  running.add(tree);
  return () => {
    running.delete(tree);
    if (running.size === 0) process.off('exit', endAll);
  };
}
