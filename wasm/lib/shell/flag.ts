import type { FlagAnswer, Host } from './host.js';
import { Once } from './log.js';

/** Any environment; `process.env` fits. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What Node's global `process` has of use here. */
interface ProcessLike {
  env?: Environment;
  emitWarning?: (message: string, type: string) => void;
}

const VARIABLE = 'SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH';

const host = (): ProcessLike | undefined => (globalThis as { process?: ProcessLike }).process;
const said = new Once();

/** This process's environment; empty where there is none. */
export function environment(): Environment {
  return host()?.env ?? {};
}

/** A variable of it; unset where it cannot be read, or is no text. */
function variable(name: string): string | undefined {
  try {
    const value: unknown = environment()[name];
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Says something once in a process, to whoever runs it: once for each `about`, which is the message if not given. */
export function warnOnce(message: string, about = message): void {
  if (!said.first(about)) return;
  try {
    const emit = host()?.emitWarning;
    if (emit === undefined) console.warn(message);
    else emit.call(host(), message, 'TurnbackWarning');
  } catch {
    // Saying it decides nothing (G5), and whoever cannot be told has no other ear.
  }
}

/**
 * Whether the environment asks for checkpoints (G3). An odd value is named once in a process.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` when `env` is no object
 */
export function isCheckpointBeforeAgentBatchEnabled(on: Host, env: Environment = environment()): boolean {
  if (typeof env !== 'object' || env === null) {
    throw on.error('INVALID_ARGUMENT', 'env is no object: pass an environment such as process.env, or nothing', {
      details: { argument: 'env' },
    });
  }
  const { enabled, warning } = on.resolveFlag(relevant(env));
  // The message also says what the value counts as, which depends on more: the value is what is named once.
  if (warning !== undefined) warnOnce(warning, env[VARIABLE]);
  return enabled;
}

function relevant(env: Environment): { SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH?: string; NODE_ENV?: string } {
  const { SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH: own, NODE_ENV: node } = env;
  return {
    ...(own === undefined ? {} : { SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH: own }),
    ...(node === undefined ? {} : { NODE_ENV: node }),
  };
}

/** The flag as a guard reads it, at each batch: the rule is asked again only when one of the two variables has changed. */
export class Flag {
  readonly #host: Host;
  readonly #warn: (warning: string, value: string | undefined) => void;
  #own: string | undefined;
  #node: string | undefined;
  #answer: FlagAnswer | undefined;

  constructor(host: Host, warn: (warning: string, value: string | undefined) => void) {
    this.#host = host;
    this.#warn = warn;
  }

  enabled(): boolean {
    const own = variable(VARIABLE);
    // A look at Node's environment is a call of libc: half a microsecond. The second one is needed only if the first left it open.
    const node = own === 'true' || own === 'false' ? undefined : variable('NODE_ENV');
    if (this.#answer === undefined || own !== this.#own || node !== this.#node) {
      const answer = this.#host.resolveFlag(relevant({ SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH: own, NODE_ENV: node }));
      [this.#own, this.#node, this.#answer] = [own, node, answer];
      if (answer.warning !== undefined) this.#warn(answer.warning, own);
    }
    return this.#answer.enabled;
  }
}
