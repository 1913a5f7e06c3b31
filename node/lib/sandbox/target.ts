import type { Check } from '../check.js';
import { absolute, type Path } from '../paths.js';
import type { Sandbox } from './types.js';

/** What is worked on: a directory, and the sandbox that it is of. */
export interface Target {
  /** Absolute. */
  directory: Buffer;
  /** The sandbox's own id; a plain directory has none. */
  sandboxId?: string;
}

/** A sandbox, or the path of a directory; a relative one is resolved here, by the working directory. */
export const target: Check<Target> = (name, value) => {
  const { id, path, pathBytes } = (typeof value === 'object' && value !== null ? value : {}) as Partial<Sandbox>;
  if (typeof id !== 'string' || typeof path !== 'string') return { directory: absolute(name, value) };
  return { directory: absolute(`${name}.path`, pathBytes ?? path), sandboxId: id };
};

/** A sandbox, or a path. */
export type SandboxOrPath = Sandbox | Path;
