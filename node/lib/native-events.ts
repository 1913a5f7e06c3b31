/** What the engine says by itself, for the logger of whoever opened the store (X4). */
import type { Addon } from './addon.js';
import type { Logger } from './log.js';

/** How important an event of the engine is; the first is the most important. */
export type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace';

/** Events of the engine on their way to a logger. */
export interface Events {
  readonly queue: InstanceType<Addon['EventQueue']>;
  /** Gives the logger what there is. */
  deliver(): void;
}

/** Gathers the events of a level and the more important ones for a logger, which must not throw. */
export function eventsTo(addon: Addon, log: Logger, level: LogLevel): Events {
  const deliver = () => {
    const { events, dropped } = queue.take();
    for (const { level, target, message, fields } of events) {
      const given = Object.fromEntries(fields.map(({ name, value }) => [name, value]));
      // Loggers of pino's shape need no more than four.
      log[level === 'trace' ? 'debug' : (level as keyof Logger)]({ ...given, target }, message);
    }
    if (dropped > 0) log.warn({ dropped }, 'so many more events of the engine came at once, and were dropped');
  };
  const queue = new addon.EventQueue(level, deliver);
  return { queue, deliver };
}
