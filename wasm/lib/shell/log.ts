import { quiet } from './settle.js';

/** Where the guard logs to: pino's shape. Silent by default. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

type Level = keyof Logger;

/** The names of a logger's methods. */
export const LEVELS: readonly Level[] = ['debug', 'info', 'warn', 'error'];

/** A logger that can neither throw nor reject: logging decides nothing (G5). One that fails has no one to tell. */
export class SafeLog {
  #logger: Logger | undefined;

  constructor(logger: Logger | undefined) {
    this.#logger = logger;
  }

  /** Another logger, from now on. */
  use(logger: Logger | undefined): void {
    this.#logger = logger;
  }

  /** Whether anybody listens. */
  get heard(): boolean {
    return this.#logger !== undefined;
  }

  say(level: Level, fields: object, message: string): void {
    try {
      const done: unknown = this.#logger?.[level](fields, message);
      quiet(done);
    } catch {
      // See above.
    }
  }
}

/** The first few of a kind: a set that forgets its oldest, so that it stays small. */
export class Once {
  static readonly #most = 1000;
  readonly #seen = new Set<string>();

  /** Whether this key comes for the first time, as far as is remembered. */
  first(key: string): boolean {
    if (this.#seen.has(key)) return false;
    this.#seen.add(key);
    if (this.#seen.size > Once.#most) {
      for (const oldest of this.#seen) {
        this.#seen.delete(oldest);
        break;
      }
    }
    return true;
  }
}
