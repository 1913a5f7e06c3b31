/**
 * What `require('turnback/testing/jest')` gives: the types of `dist/jest.cjs`, which is built from `testing/jest.ts`.
 */
import type * as module from './testing/jest.js' with { 'resolution-mode': 'import' };

export type {
  JestHooks,
  SandboxTestOptions,
  WithSandbox,
} from './testing/jest.js' with { 'resolution-mode': 'import' };
export declare const sandboxPerTest: typeof module.sandboxPerTest;
