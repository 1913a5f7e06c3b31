import type { Command } from '../command.js';
import { checkpoint } from './checkpoint.js';
import { remove } from './delete.js';
import { diff } from './diff.js';
import { doctor } from './doctor.js';
import { exportTo } from './export.js';
import { HOOKS } from './hook/index.js';
import { label } from './label.js';
import { list } from './list.js';
import { pause, resume } from './pause.js';
import { pin, unpin } from './pin.js';
import { prune } from './prune.js';
import { recover } from './recover.js';
import { revert } from './revert.js';
import { rollback } from './rollback.js';
import { run } from './run.js';
import { runGuarded } from './run-guarded.js';
import { SANDBOX } from './sandbox/index.js';
import { show } from './show.js';
import { simulate } from './simulate.js';
import { turns } from './turns.js';
import { undo } from './undo.js';
import { usage } from './usage.js';
import { verify } from './verify.js';

/** Every command, in the order of the help. */
export const COMMANDS: Command[] = [
  checkpoint,
  list,
  show,
  diff,
  turns,
  rollback,
  undo,
  revert,
  recover,
  label,
  pin,
  unpin,
  prune,
  remove,
  verify,
  usage,
  exportTo,
  run,
  ...SANDBOX,
  runGuarded,
  ...HOOKS,
  pause,
  resume,
  simulate,
  doctor,
];
