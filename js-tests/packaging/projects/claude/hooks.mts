// The hooks have the types that the SDK itself asks for.
import { type Options, query } from '@anthropic-ai/claude-agent-sdk';
import { createGuard } from 'turnback';
import { guardHooks } from 'turnback/claude-agent-sdk';

const hooks = guardHooks({ guard: createGuard({}), sandboxId: ({ cwd }) => cwd ?? '' });
export const options: Options = { hooks };
export const session = query({ prompt: 'Tidy up', options: { hooks } });
// @ts-expect-error: what a hook answers is not taken for anything
export const wrong: Options = { hooks: { PreToolUse: [{ hooks: [async () => 7] }] } };
