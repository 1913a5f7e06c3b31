import type { Command } from '../../command.js';
import { claudeCode } from './claude-code.js';

/** Every `hook` command: run by other programs, whose calls they must not disturb. */
export const HOOKS: Command[] = [claudeCode];
