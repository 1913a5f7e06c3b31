/** What a call tells those who listen on the channels of `turnback`. */
import type { TracingChannel } from 'node:diagnostics_channel';
import { node } from './builtin.js';

/** The name of the tracing channel: `node:diagnostics_channel`'s `tracingChannel('turnback')`. */
export const CHANNEL = 'turnback';

/** What is done, as the messages of the channel and, behind `turnback.`, the names of spans say it. */
export type Operation =
  | 'checkpoint.create'
  | 'checkpoint.delete'
  | 'checkpoint.diff'
  | 'checkpoint.export'
  | 'checkpoint.prune'
  | 'checkpoint.verify'
  | 'restore.rollback'
  | 'restore.undo'
  | 'restore.revert'
  | 'restore.recover'
  | 'restore.abandon'
  | 'sandbox.create'
  | 'sandbox.changes'
  | 'sandbox.commit'
  | 'sandbox.undo_commit'
  | 'sandbox.rollback'
  | 'sandbox.cleanup'
  | 'bash.run'
  | 'guard.before_batch';

/**
 * The message of an operation; one object goes through its `start`, `end`, `asyncStart`, `asyncEnd` and `error`. Whoever listens must
 * neither change it nor rely on more than this.
 */
export interface OperationMessage {
  readonly operation: Operation;
  /** The store's directory; not for the guard, which has none. */
  readonly store?: string | undefined;
  /** The checkpoint that the call is about, as it was named. */
  readonly checkpointId?: string | undefined;
  /** The sandbox that the call is about: a sandbox's own id, or what a batch calls it. */
  readonly sandboxId?: string | undefined;
  /** The turn of a batch. */
  readonly turnId?: string | undefined;
  /** What the call resolved with, from `asyncStart` on. */
  readonly result?: unknown;
  /** What it rejected with, from `error` on. */
  readonly error?: unknown;
}

let channel: TracingChannel<string, OperationMessage> | undefined;

function tracing(): TracingChannel<string, OperationMessage> {
  // Made at the first call, not at the import (W9).
  channel ??= node.diagnosticsChannel.tracingChannel<string, OperationMessage>(CHANNEL);
  return channel;
}

/** Whether anybody listens: otherwise an operation is traced at no cost. */
export function isTraced(): boolean {
  return tracing().hasSubscribers;
}

/** What a call is about; the operation itself is not part of it. */
type About = Omit<OperationMessage, 'operation' | 'result' | 'error'>;

/** Runs an operation, and tells those who listen. It starts in the same tick, whoever listens. */
export function traced<T>(operation: Operation, about: () => About, run: () => Promise<T>): Promise<T> {
  if (!isTraced()) return run();
  return tracing().tracePromise(run, { operation, ...harmless(about) });
}

/** The names of methods that are long enough to be traced. */
type Asynchronous<Self> = {
  [Name in keyof Self]: Self[Name] extends (...args: never[]) => Promise<unknown> ? Name : never;
}[keyof Self];

/** Has every call of a method traced. `about` is given the arguments before they are checked. */
export function traceMethod<Self extends object>(
  prototype: Self,
  name: Asynchronous<Self>,
  operation: Operation,
  about: (self: Self, args: readonly unknown[]) => About,
): void {
  const method = prototype[name] as (...args: unknown[]) => Promise<unknown>;
  Object.defineProperty(prototype, name, {
    configurable: true,
    writable: true,
    value: function (this: Self, ...args: unknown[]): Promise<unknown> {
      return traced(
        operation,
        () => about(this, args),
        () => method.apply(this, args),
      );
    },
  });
}

/** The id in what names a checkpoint: itself, a record, a report. */
export function idIn(named: unknown, ...keys: ('checkpointId' | 'undoCheckpointId')[]): string | undefined {
  if (typeof named === 'string') return named;
  if (typeof named !== 'object' || named === null) return undefined;
  for (const key of keys) {
    const id: unknown = (named as Record<string, unknown>)[key];
    if (typeof id === 'string') return id;
  }
  return undefined;
}

/** Arguments are looked at before they are checked: what cannot be looked at is the call's to refuse. */
function harmless(about: () => About): About {
  try {
    return about();
  } catch {
    return {};
  }
}
