import type { Check } from '../check.js';
import { absolute, type Path } from '../paths.js';
import type { Sandbox } from './types.js';

/** A sandbox, or a path. */
export type SandboxOrPath = Sandbox | Path;

/** The absolute path of a sandbox or a directory; a relative one is resolved here, by the working directory. */
export const target: Check<Buffer> = (name, value) => {
  const { id, path, pathBytes } = (typeof value === 'object' && value !== null ? value : {}) as Partial<Sandbox>;
  const isSandbox = typeof id === 'string' && typeof path === 'string';
  return isSandbox ? absolute(`${name}.path`, pathBytes ?? path) : absolute(name, value);
};
