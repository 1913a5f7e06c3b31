import type { OutputChunk } from './types.js';
import { warn } from './warning.js';

/** A listener whose failures change nothing of the command: the first one becomes a warning of the process. */
export function harmless(onOutput: ((chunk: OutputChunk) => void) | undefined): (chunk: OutputChunk) => void {
  if (onOutput === undefined) return () => {};
  let warned = false;
  const failed = (error: unknown) => {
    if (warned) return;
    warned = true;
    warn('onOutput failed; the command goes on', error);
  };
  return (chunk) => {
    try {
      const result: unknown = onOutput(chunk);
      if (result instanceof Promise) result.catch(failed);
    } catch (error) {
      failed(error);
    }
  };
}
