import type { Check } from '../check.js';
import { absolute, type Path } from '../paths.js';
import type { Sandbox } from './types.js';

/** A sandbox, or a path. */
export type SandboxOrPath = Sandbox | Path;

/** What a checkpoint is taken of. */
interface Target {
  /** The absolute path. */
  readonly directory: Buffer;
  /** It is a sandbox's own: a link in the place of its root was put there since, and the engine does not follow it (S4). */
  readonly recorded: boolean;
}

/** The absolute path of a sandbox or a directory; a relative one is resolved here, by the working directory. */
export const target: Check<Target> = (name, value) => {
  const { id, path, pathBytes } = (typeof value === 'object' && value !== null ? value : {}) as Partial<Sandbox>;
  const isSandbox = typeof id === 'string' && typeof path === 'string';
  const directory = isSandbox ? absolute(`${name}.path`, pathBytes ?? path) : absolute(name, value);
  return { directory, recorded: isSandbox };
};
