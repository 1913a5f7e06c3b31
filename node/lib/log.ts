/** Where the package logs to: pino's shape. Silent by default. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** The names of a logger's methods. */
export const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * @internal A logger that can neither throw nor reject: what it is asked to log must never decide what becomes of a checkpoint (G5). A
 * logger that fails has no one to tell.
 */
export function safely(logger: Logger | undefined): Logger {
  if (logger === undefined) return SILENT;
  const level = (name: (typeof LEVELS)[number]) => (fields: object, message: string) => {
    try {
      const done: unknown = logger[name](fields, message);
      // An asynchronous logger's failure would be an unhandled rejection, which ends the process.
      if (isThenable(done)) Promise.resolve(done).catch(() => {});
    } catch {
      // See above.
    }
  };
  return { debug: level('debug'), info: level('info'), warn: level('warn'), error: level('error') };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value;
}
