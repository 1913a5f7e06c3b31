// G14, P5: the proof that a command only reads, through the package `turnback` (here: through the addon).
import { isReadOnly, judgeCommand } from 'turnback';
import { replayReadOnly } from '../vectors/read-only-table.js';

replayReadOnly('the addon', { isReadOnly, judgeCommand });
