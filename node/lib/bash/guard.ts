import type { Check } from '../check.js';
import { invalidArgument } from '../errors.js';
import type { CommandGuard } from './types.js';

/** What a caller passes as a guard: what `createGuard` gave, of this copy of the package or another. */
export const guard: Check<CommandGuard> = (name, value) => {
  const { beforeBatch, release } = (value ?? {}) as Partial<CommandGuard>;
  if (typeof beforeBatch === 'function' && typeof release === 'function') return value as CommandGuard;
  throw invalidArgument(name, `${name} is no guard: pass what createGuard() gave`);
};
