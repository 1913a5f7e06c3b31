// G5, G10, G12: a Sprite's checkpoint that is given up. The caller is answered at once, and the stream is closed, even if it opens
// only then.
import { getEventListeners } from 'node:events';
import { isTurnbackError, spritesDriver } from 'turnback';
import { describe, expect, it } from 'vitest';
import { deferred } from '../contract/deferred.js';
import { rejection } from '../node/support.js';
import { COMPLETE, INFO } from './fake-sprites.js';
import { COMMENT, counted, create, driverOf, listening, sprites } from './world.js';

const REASON = new Error('10 s have passed');

describe('a checkpoint that is given up', () => {
  it('before it began asks Sprites for nothing', async () => {
    const server = await sprites();
    server.onCreate = () => expect.unreachable('a checkpoint was asked for');
    const error = await rejection(create(driverOf(server), AbortSignal.abort(REASON)));
    expect(error).toMatchObject({ code: 'ABORTED', retryable: false, cause: REASON, details: { comment: COMMENT } });
    expect((error as Error).message).toContain('before it began');
    expect(server.lists).toBe(0);
    let asked = 0;
    const driver = spritesDriver(() => {
      asked += 1;
      return server.sprite();
    });
    expect(await rejection(create(driver, AbortSignal.abort(REASON)))).toMatchObject({
      code: 'ABORTED',
      cause: REASON,
    });
    expect(asked).toBe(0);
  });

  it('never opens: the caller is answered while Sprites is silent', async () => {
    const server = await sprites();
    const controller = new AbortController();
    const call = rejection(create(driverOf(server), controller.signal));
    await server.create();
    controller.abort(REASON);
    const error = await call;
    expect(error).toMatchObject({ code: 'ABORTED', cause: REASON });
    expect((error as Error).message).toContain('Sprites may still finish it');
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it('opens late: the stream is closed unread, and the log says so', async () => {
    const server = await sprites();
    const logger = listening();
    const { sprite, reads } = counted(server.sprite());
    const controller = new AbortController();
    const call = rejection(create(spritesDriver(sprite, { logger }), controller.signal));
    const received = await server.create();
    controller.abort(REASON);
    expect(await call).toMatchObject({ code: 'ABORTED' });
    let read = false;
    void reads(1).then(() => {
      read = true;
    });
    received.open().send(INFO, COMPLETE);
    expect(await received.closed).toBe('cut');
    expect(read).toBe(false);
    expect(logger.heard).toEqual(['info: a Sprite answered after its checkpoint was given up: the stream was closed']);
    expect(server.lists).toBe(1);
  });

  it('G5: opens late as something that breaks when it is looked at: the log says so, and no rejection is left alone', async () => {
    const logger = listening();
    const asked = deferred<void>();
    const opens = deferred<never>();
    const createCheckpoint = () => {
      asked.resolve();
      return opens.promise;
    };
    const controller = new AbortController();
    const driver = spritesDriver({ createCheckpoint, listCheckpoints: async () => [] }, { logger });
    const call = rejection(create(driver, controller.signal));
    await asked.promise;
    controller.abort(REASON);
    expect(await call).toMatchObject({ code: 'ABORTED' });
    opens.resolve({
      close() {},
      get next() {
        throw new Error('no');
      },
    } as never);
    await new Promise((resolve) => setImmediate(resolve));
    expect(logger.heard).toEqual(['warn: what a Sprite answered too late could not be dealt with']);
  });

  it('G5: a stream whose closing fails later: the log says so, and no rejection is left alone', async () => {
    const logger = listening();
    const stream = {
      next: async () => Promise.reject(new Error('cut')),
      close: async () => Promise.reject(new Error('no')),
    };
    const driver = spritesDriver({ createCheckpoint: async () => stream, listCheckpoints: async () => [] }, { logger });
    expect(await rejection(create(driver))).toMatchObject({ code: 'IO' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(logger.heard).toEqual(['warn: the stream of a Sprite could not be closed']);
  });

  it('opens late with the SDK 0.0.1: the raw Response is closed as well', async () => {
    const server = await sprites();
    const controller = new AbortController();
    // @ts-expect-error The types refuse it.
    const call = rejection(create(spritesDriver(server.oldSprite()), controller.signal));
    const received = await server.create();
    controller.abort(REASON);
    expect(await call).toMatchObject({ code: 'ABORTED' });
    received.open().send(INFO);
    expect(await received.closed).toBe('cut');
  });

  it('is refused late: nobody hears of it', async () => {
    const server = await sprites();
    const logger = listening();
    const refused = deferred();
    const sprite = server.sprite();
    const open = sprite.createCheckpoint.bind(sprite);
    sprite.createCheckpoint = (comment) => open(comment).finally(refused.resolve);
    const controller = new AbortController();
    const call = rejection(create(spritesDriver(sprite, { logger }), controller.signal));
    const received = await server.create();
    controller.abort(REASON);
    expect(await call).toMatchObject({ code: 'ABORTED' });
    // An unhandled rejection would fail the run.
    received.answer(500, 'too late');
    await refused.promise;
    await new Promise(setImmediate);
    expect(logger.heard).toEqual([]);
  });

  it('stalls before its first message: the stream is closed', async () => {
    const server = await sprites();
    const { sprite, reads } = counted(server.sprite());
    const controller = new AbortController();
    const call = rejection(create(driverOf(server, sprite), controller.signal));
    const received = (await server.create()).open();
    await reads(1);
    controller.abort(REASON);
    expect(await call).toMatchObject({ code: 'ABORTED', cause: REASON });
    expect(await received.closed).toBe('cut');
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it('stalls in the middle of a line that would read "complete": closing it is no success', async () => {
    const server = await sprites();
    const { sprite, reads } = counted(server.sprite());
    const controller = new AbortController();
    const call = rejection(create(driverOf(server, sprite), controller.signal));
    const received = await server.create();
    server.add(received.comment);
    received.open().send(INFO, JSON.stringify(COMPLETE));
    await reads(2);
    controller.abort(REASON);
    expect(await call).toMatchObject({ code: 'ABORTED' });
    expect(await received.closed).toBe('cut');
    expect(server.lists).toBe(1);
  });

  it('stalls after "complete": it is not a success before the stream has ended', async () => {
    const server = await sprites();
    const { sprite, reads } = counted(server.sprite());
    const controller = new AbortController();
    const call = rejection(create(driverOf(server, sprite), controller.signal));
    const received = await server.create();
    server.add(received.comment);
    received.open().send(COMPLETE);
    await reads(2);
    controller.abort(REASON);
    expect(await call).toMatchObject({ code: 'ABORTED' });
    expect(await received.closed).toBe('cut');
  });

  it('while the list is silent: the error says that the checkpoint is there', async () => {
    const server = await sprites();
    const asked = deferred();
    // The look beforehand is answered.
    server.onList = (received) => (server.lists === 1 ? received.json([]) : asked.resolve());
    server.onCreate = (received) => received.open().send(COMPLETE).end();
    const controller = new AbortController();
    const call = rejection(create(driverOf(server), controller.signal));
    await asked.promise;
    controller.abort(REASON);
    const error = await call;
    expect(error).toMatchObject({ code: 'ABORTED', cause: REASON });
    expect((error as Error).message).toContain('it is complete');
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it('between two looks into the list', async () => {
    const server = await sprites();
    server.onCreate = (received) => received.open().send(COMPLETE).end();
    const sprite = server.sprite();
    const list = sprite.listCheckpoints.bind(sprite);
    const looked = deferred();
    // The first look is before the checkpoint.
    sprite.listCheckpoints = () => list().finally(() => server.lists === 2 && looked.resolve());
    const controller = new AbortController();
    const call = rejection(create(spritesDriver(sprite, { listDelaysMs: [60_000] }), controller.signal));
    await looked.promise;
    // By the next turn of the event loop the driver is waiting.
    await new Promise(setImmediate);
    controller.abort(REASON);
    expect(await call).toMatchObject({ code: 'ABORTED', cause: REASON });
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    expect(server.lists).toBe(2);
  });

  it('while the Sprite is being chosen', async () => {
    const controller = new AbortController();
    const asked = deferred<string>();
    const driver = spritesDriver((sandboxId) => {
      asked.resolve(sandboxId);
      return new Promise(() => {});
    });
    const call = rejection(create(driver, controller.signal));
    expect(await asked.promise).toBe('box');
    controller.abort(REASON);
    expect(await call).toMatchObject({ code: 'ABORTED', cause: REASON });
  });
});

it('a stream that cannot be closed is logged, and decides nothing', async () => {
  const server = await sprites();
  const logger = listening();
  server.onCreate = (received) => {
    server.add(received.comment);
    received.open().send(COMPLETE).end();
  };
  const sprite = server.sprite();
  const open = sprite.createCheckpoint.bind(sprite);
  sprite.createCheckpoint = async (comment) => {
    const stream = await open(comment);
    const close = stream.close.bind(stream);
    stream.close = () => {
      close();
      throw new Error('closed twice');
    };
    return stream;
  };
  expect(await create(spritesDriver(sprite, { logger }))).toEqual({ checkpointId: 'v1' });
  expect(logger.heard).toEqual(['warn: the stream of a Sprite could not be closed']);
});

it('a reason that is no error is the cause as it is', async () => {
  const server = await sprites();
  const error = await rejection(create(driverOf(server), AbortSignal.abort('stop')));
  expect(isTurnbackError(error)).toBe(true);
  expect(error).toMatchObject({ code: 'ABORTED', cause: 'stop' });
});
