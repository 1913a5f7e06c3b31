import type { Command } from '../command.js';
import { checkpoint } from './checkpoint.js';
import { remove } from './delete.js';
import { diff } from './diff.js';
import { doctor } from './doctor.js';
import { exportTo } from './export.js';
import { list } from './list.js';
import { pause, resume } from './pause.js';
import { rollback } from './rollback.js';
import { runGuarded } from './run-guarded.js';
import { show } from './show.js';
import { undo } from './undo.js';
import { usage } from './usage.js';
import { verify } from './verify.js';

/** Every command, in the order of the help. */
export const COMMANDS: Command[] = [
  checkpoint,
  list,
  show,
  diff,
  rollback,
  undo,
  remove,
  verify,
  usage,
  exportTo,
  runGuarded,
  pause,
  resume,
  doctor,
];
