// X4: what is done is told on the channels of `node:diagnostics_channel`, to OpenTelemetry, and what the engine says to the logger.

import { randomBytes } from 'node:crypto';
import { tracingChannel } from 'node:diagnostics_channel';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { context, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { CheckpointManager, createGuard, createSandbox, localDriver, type OperationMessage, runBash } from 'turnback';
import { traceWith } from 'turnback/opentelemetry';
import { describe, expect, it, onTestFinished } from 'vitest';
import { rejection, scene, temporary, UNKNOWN_ID, write } from './support.js';

type Heard = [event: string, message: OperationMessage];

/** What is told until the end of the test. */
function listening(): Heard[] {
  const heard: Heard[] = [];
  const hear = (event: string) => (message: unknown) => void heard.push([event, message as OperationMessage]);
  const subscribers = {
    start: hear('start'),
    end: hear('end'),
    asyncStart: hear('asyncStart'),
    asyncEnd: hear('asyncEnd'),
    error: hear('error'),
  };
  const channel = tracingChannel('turnback');
  channel.subscribe(subscribers);
  onTestFinished(() => void channel.unsubscribe(subscribers));
  return heard;
}

const of = (heard: Heard[], event: string) =>
  heard.filter(([name]) => name === event).map(([, { operation }]) => operation);

describe('the tracing channel', () => {
  it('hears of each operation, its subject and its outcome', async () => {
    const { manager, workspace } = await scene({ 'a.txt': 'a' });
    const heard = listening();
    const { checkpointId, sandboxId } = await manager.createCheckpoint(workspace, 'p', 'manual');
    writeFileSync(join(workspace, 'a.txt'), 'b');
    const report = await manager.rollbackTo(checkpointId);
    await manager.undo(report);
    await manager.revert(checkpointId, report.undoCheckpointId as string, { dryRun: true });
    await manager.diff(checkpointId);
    await manager.verify(checkpointId);
    await manager.prune({ keepLast: 100 });
    await manager.recover(workspace);
    await manager.abandon(workspace);
    await manager.export(checkpointId, join(temporary(), 'out'));
    await manager.deleteCheckpoint(checkpointId);
    const all = [
      'checkpoint.create',
      'restore.rollback',
      'restore.undo',
      'restore.revert',
      'checkpoint.diff',
      'checkpoint.verify',
      'checkpoint.prune',
      'restore.recover',
      'restore.abandon',
      'checkpoint.export',
      'checkpoint.delete',
    ];
    expect(of(heard, 'start')).toEqual(all);
    expect(of(heard, 'asyncEnd')).toEqual(all);
    expect(of(heard, 'error')).toEqual([]);
    const [, created] = heard.find(([event]) => event === 'asyncEnd') as Heard;
    expect(created).toMatchObject({ store: manager.storePath, result: { checkpointId, sandboxId } });
    const rolled = heard.find(([event, { operation }]) => event === 'start' && operation === 'restore.rollback');
    expect(rolled?.[1]).toMatchObject({ checkpointId });
    const undone = heard.find(([event, { operation }]) => event === 'start' && operation === 'restore.undo');
    expect(undone?.[1]).toMatchObject({ checkpointId: report.undoCheckpointId });
  });

  it('hears of failures, also of arguments that are refused', async () => {
    const { manager } = await scene();
    const heard = listening();
    const unknown = await rejection(manager.rollbackTo(UNKNOWN_ID));
    const odd = await rejection(manager.createCheckpoint(5 as never, 'p', 'manual'));
    const none = await rejection((manager.undo as (rollback: unknown) => Promise<unknown>).call(manager, null));
    expect(heard.filter(([event]) => event === 'error').map(([, { error }]) => error)).toEqual([unknown, odd, none]);
  });

  it('hears of sandboxes, commands and batches, each with its ids', async () => {
    const { manager, workspace } = await scene({ 'a.txt': 'a' });
    const heard = listening();
    const sandbox = await createSandbox({ resource: workspace, checkpoints: manager });
    const guard = createGuard({ driver: localDriver(manager, sandbox), enabled: () => true });
    await runBash({ sandbox, command: 'echo x >new', guard, turnId: 't' });
    await sandbox.changes();
    await sandbox.commit();
    await sandbox.undoCommit();
    await sandbox.rollback();
    await sandbox.cleanup({ force: true });
    expect(of(heard, 'start')).toEqual([
      'sandbox.create',
      'bash.run',
      'guard.before_batch',
      'checkpoint.create',
      'sandbox.changes',
      'sandbox.commit',
      'sandbox.undo_commit',
      'sandbox.rollback',
      'sandbox.cleanup',
    ]);
    const about = (wanted: string) =>
      heard.find(([event, { operation }]) => event === 'asyncEnd' && operation === wanted)?.[1];
    expect(about('guard.before_batch')).toMatchObject({
      sandboxId: sandbox.checkpointsId,
      turnId: 't',
      result: { outcome: 'created', protected: true },
    });
    expect(about('bash.run')).toMatchObject({ turnId: 't', result: { exitCode: 0 } });
    expect(about('sandbox.commit')).toMatchObject({
      sandboxId: sandbox.id,
      store: manager.storePath,
      result: { committed: true },
    });
  });

  it('G5: a batch that cannot be looked at is told as far as it can, and gets its verdict', async () => {
    const heard = listening();
    const guard = createGuard({ driver: { createCheckpoint: async () => {} }, enabled: () => true });
    const hostile = {
      get sandboxId(): string {
        throw new Error('no');
      },
      turnId: 't',
    };
    expect(await guard.beforeBatch(hostile)).toMatchObject({ reason: 'invalid_batch' });
    expect(of(heard, 'asyncEnd')).toEqual(['guard.before_batch']);
  });

  it('an operation starts in the tick of its call, whoever listens', async () => {
    listening();
    let asked = 0;
    const driver = {
      createCheckpoint: async () => {
        asked += 1;
      },
    };
    const verdict = createGuard({ driver, enabled: () => true }).beforeBatch({ sandboxId: 's', turnId: 't' });
    expect(asked).toBe(1);
    expect(await verdict).toMatchObject({ outcome: 'created' });
  });
});

describe('OpenTelemetry', () => {
  /** Spans of the real SDK. */
  function spans() {
    const exporter = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    const tracer = provider.getTracer('test');
    const contexts = new AsyncLocalStorageContextManager().enable();
    context.setGlobalContextManager(contexts);
    const stop = traceWith(tracer);
    onTestFinished(() => {
      stop();
      context.disable();
    });
    return { exporter, tracer, stop };
  }

  it('has a span for each operation, below the one that is active, with the documented names', async () => {
    const { manager, workspace } = await scene({ 'a.txt': 'a' });
    const { exporter, tracer, stop } = spans();
    const outer = tracer.startSpan('outer');
    const { checkpointId, coverage } = await context.with(
      trace.setSpan(context.active(), outer),
      async () => await manager.createCheckpoint(workspace, 'p', 'manual'),
    );
    writeFileSync(join(workspace, 'a.txt'), 'b');
    await manager.rollbackTo(checkpointId);
    await rejection(manager.rollbackTo(UNKNOWN_ID));
    stop();
    await manager.verify();
    const [created, rolled, failed, ...more] = exporter.getFinishedSpans();
    expect(more).toEqual([]);
    expect(created).toMatchObject({
      name: 'turnback.checkpoint.create',
      parentSpanContext: { spanId: outer.spanContext().spanId },
      attributes: {
        'turnback.store': manager.storePath,
        'turnback.checkpoint.id': checkpointId,
        'turnback.files': coverage.files,
        'turnback.complete': true,
      },
    });
    expect(rolled).toMatchObject({
      name: 'turnback.restore.rollback',
      attributes: { 'turnback.checkpoint.id': checkpointId, 'turnback.restored': true, 'turnback.written': 1 },
    });
    expect(failed).toMatchObject({
      name: 'turnback.restore.rollback',
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'NOT_FOUND' },
      events: [expect.objectContaining({ name: 'exception' })],
    });
  });

  it('a verdict is told', async () => {
    const { exporter } = spans();
    const guard = createGuard({
      driver: { createCheckpoint: async () => ({ checkpointId: 'v1' }) },
      enabled: () => true,
    });
    await guard.beforeBatch({ sandboxId: 's', turnId: 't' });
    expect(exporter.getFinishedSpans()).toMatchObject([
      {
        name: 'turnback.guard.before_batch',
        attributes: {
          'turnback.sandbox.id': 's',
          'turnback.turn.id': 't',
          'turnback.outcome': 'created',
          'turnback.reason': 'new_turn',
          'turnback.protected': true,
          'turnback.late': false,
          'turnback.checkpoint.id': 'v1',
        },
      },
    ]);
  });

  it('G5: a tracer that throws disturbs nothing, and one that is none is refused', async () => {
    const { manager, workspace } = await scene();
    const stop = traceWith({
      startSpan: () => {
        throw new Error('no');
      },
    });
    onTestFinished(stop);
    await manager.createCheckpoint(workspace, 'p', 'manual');
    expect(() => traceWith({} as never)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});

describe("the engine's own events", () => {
  interface Line {
    level: string;
    fields: Record<string, unknown>;
    message: string;
  }

  function keeping() {
    const lines: Line[] = [];
    const keep = (level: string) => (fields: object, message: string) =>
      void lines.push({ level, fields: fields as Record<string, unknown>, message });
    const logger = { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') };
    const engine = () => lines.filter(({ fields }) => String(fields.target).startsWith('turnback_engine'));
    return { logger, lines, engine };
  }

  /** A store of which the marks of one checkpoint are damaged: the engine warns when it looks at them. */
  async function warning(options: { logger?: ReturnType<typeof keeping>['logger']; logLevel?: 'error' | 'debug' }) {
    const home = temporary();
    const workspace = write(join(home, 'w'), { 'a.txt': 'a' });
    const store = join(home, 'store');
    await using manager = await CheckpointManager.open({ store, ...options });
    const { checkpointId } = await manager.createCheckpoint(workspace, 'p', 'pre_batch');
    const marks = join(store, 'checkpoints', checkpointId, 'marks');
    rmSync(marks, { force: true });
    mkdirSync(marks);
    await manager.prune({ keepLast: 100 });
  }

  it('reach the logger with their fields, before the call that they are about is answered', async () => {
    const { logger, engine } = keeping();
    await warning({ logger });
    expect(engine()).not.toEqual([]);
    expect(new Set(engine().map(({ level }) => level))).toEqual(new Set(['warn']));
  });

  it('come at the level that was chosen', async () => {
    const quiet = keeping();
    await warning({ logger: quiet.logger, logLevel: 'error' });
    expect(quiet.engine()).toEqual([]);
    for (const logLevel of ['info', 'warn'] as const) {
      const home = temporary();
      const workspace = write(join(home, 'w'), {});
      const { logger, engine } = keeping();
      await using manager = await CheckpointManager.open({
        store: join(home, 's'),
        maxBytes: 4 << 20,
        logger,
        logLevel,
      });
      for (let at = 0; at < 12; at += 1) {
        write(workspace, { 'a.bin': randomBytes(400_000).toString('latin1') });
        await manager.createCheckpoint(workspace, 'p', 'pre_batch');
      }
      // That old checkpoints went to make room.
      expect(engine().map(({ level }) => level)).toEqual(logLevel === 'warn' ? [] : expect.arrayContaining(['info']));
    }
  });

  it('of more than a thousand at once the last are dropped, and it is told how many', async () => {
    const { logger, lines, engine } = keeping();
    const home = temporary();
    const store = join(home, 'store');
    await using manager = await CheckpointManager.open({ store, logger, logLevel: 'debug' });
    /** A checkpoint of a workspace with so many lines in its ignore file that are no patterns: each of them is an event. */
    const checkpoint = (bad: number) => {
      const workspace = write(join(home, `w${bad}`), { '.gitignore': '[z-a]\n'.repeat(bad) });
      return manager.createCheckpoint(workspace, 'p', 'manual', {}, { excludeIgnored: true });
    };
    const heard = () => engine().filter(({ message }) => message === 'a line of an ignore file is no pattern').length;
    const dropped = () => lines.filter(({ fields }) => 'dropped' in fields);

    await checkpoint(300);
    expect([heard(), dropped()]).toEqual([300, []]);
    const made = checkpoint(5000);
    // All of them are there before this turn of the event loop is over: nothing is taken meanwhile.
    while (readdirSync(join(store, 'checkpoints')).length < 2);
    await made;
    const message = 'so many more events of the engine came at once, and were dropped';
    expect([heard(), dropped()]).toEqual([1300, [{ level: 'warn', fields: { dropped: 4000 }, message }]]);
    await checkpoint(7);
    expect([heard(), dropped().length]).toEqual([1307, 1]);
  });

  it('go to the logger of their own manager only', async () => {
    const [mine, other] = [keeping(), keeping()];
    await using _ = await CheckpointManager.open({ store: join(temporary(), 's'), logger: other.logger });
    await warning({ logger: mine.logger });
    expect(mine.engine()).not.toEqual([]);
    expect(other.engine()).toEqual([]);
  });

  it('a level that is none is refused', async () => {
    expect(await rejection(CheckpointManager.open({ store: 'ephemeral', logLevel: 'loud' as never }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});
