/** Commands in a shell, with the guard before them (G13). */
export { runBash } from './run-bash.js';
export type {
  CommandGuard,
  CommandSandbox,
  OutputChunk,
  RunBashOptions,
  RunBashResult,
} from './types.js';
