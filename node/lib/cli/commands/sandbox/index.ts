import type { Command } from '../../command.js';
import { changes } from './changes.js';
import { cleanup } from './cleanup.js';
import { commit } from './commit.js';
import { create } from './create.js';
import { lease } from './lease.js';
import { list } from './list.js';
import { path } from './path.js';
import { rollback } from './rollback.js';
import { undoCommit } from './undo-commit.js';

/** Every `sandbox` command, in the order of the help. */
export const SANDBOX: Command[] = [create, list, path, changes, commit, undoCommit, rollback, lease, cleanup];
