/** Sandboxes: isolate, commit back three-way, never lose work (S1–S12). */
export { attachSandbox, cleanupAbandoned, createSandbox, listDamagedSandboxes, listSandboxes } from './create.js';
export { SandboxManager } from './manager.js';
export { type AnySandbox, type Copied, CopyOnWriteSandbox, GitWorktreeSandbox, NoSandbox } from './strategies.js';
export type {
  AbandonedReport,
  AttachOptions,
  CleanupReport,
  CommitOptions,
  CommitReport,
  DamagedSandbox,
  Mechanism,
  Remains,
  Sandbox,
  SandboxInfo,
  SandboxOptions,
  SandboxOwner,
  SandboxStoreOptions,
  Strategy,
} from './types.js';
