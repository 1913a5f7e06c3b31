// G12: what counts as a checkpoint of a Sprite. The stream is the one of the real SDK, over HTTP.
import { isTurnbackError, spritesDriver, type TurnbackError } from 'turnback';
import { describe, expect, it } from 'vitest';
import { rejection } from '../node/support.js';
import { COMPLETE, INFO, type Received } from './fake-sprites.js';
import { COMMENT, counted, create, driverOf, sprites } from './world.js';

/** What the driver makes of an answer of Sprites. The checkpoint is in the list, so that only the stream decides. */
async function failing(answer: (received: Received) => void): Promise<TurnbackError> {
  const server = await sprites();
  server.onCreate = (received) => {
    server.add(received.comment);
    answer(received);
  };
  const error = await rejection(create(driverOf(server)));
  if (!isTurnbackError(error)) throw error;
  expect(error.details).toMatchObject({ sandboxId: 'box', comment: COMMENT });
  expect(server.lists).toBe(1);
  return error;
}

describe('a stream that ends with "complete"', () => {
  it('is a checkpoint; the comment is passed on as it is', async () => {
    const server = await sprites();
    const call = create(driverOf(server), undefined, 'turnback-pre-agent-t%201');
    const received = await server.create();
    expect(received).toMatchObject({ sprite: 'box', comment: 'turnback-pre-agent-t%201' });
    server.add(received.comment);
    received.open().send(INFO, { type: 'stdout', data: 'x' }, { type: 'stderr', data: 'y' }, COMPLETE).end();
    expect(await call).toEqual({ checkpointId: 'v1' });
    expect(await received.closed).toBe('whole');
  });

  it('is read to its end: its id is not looked up before', async () => {
    const server = await sprites();
    const { sprite, reads } = counted(server.sprite());
    const call = create(driverOf(server, sprite));
    const received = (await server.create()).open().send(COMPLETE);
    server.add(received.comment);
    await reads(2);
    expect(server.lists).toBe(1);
    received.end();
    expect(await call).toEqual({ checkpointId: 'v1' });
    expect(server.lists).toBe(2);
  });

  it.each([
    ['cut into single bytes', [...`${JSON.stringify(INFO)}\n${JSON.stringify(COMPLETE)}\n`]],
    ['without a last line end', [JSON.stringify(COMPLETE)]],
    ['with empty lines and CRLF', ['\n\r\n', `${JSON.stringify(COMPLETE)}\r\n\n`]],
    ['with a type of message that is not known yet', [{ type: 'progress', data: '50 %' }, COMPLETE]],
    ['with a broken line before it, which the SDK drops', ['{"type":"info",\n', COMPLETE]],
  ])('counts %s', async (_, lines) => {
    const server = await sprites();
    server.onCreate = (received) => {
      server.add(received.comment);
      received
        .open()
        .send(...lines)
        .end();
    };
    expect(await create(driverOf(server))).toEqual({ checkpointId: 'v1' });
  });
});

describe('a stream without "complete" is a failure (F28)', () => {
  it.each<[string, (received: Received) => void, RegExp, object]>([
    [
      'an error message',
      (r) => r.open().send(INFO, { type: 'error', error: 'disk full' }).end(),
      /"disk full"/,
      { messages: 2, last: 'error: disk full' },
    ],
    ['an error without a text', (r) => r.open().send({ type: 'error' }).end(), /the error ""/, { messages: 1 }],
    [
      'an error, then complete',
      (r) => r.open().send({ type: 'error', error: 'no' }, COMPLETE).end(),
      /"no"/,
      { messages: 1 },
    ],
    [
      'complete, then an error',
      (r) => r.open().send(COMPLETE, { type: 'error', error: 'no' }).end(),
      /"no"/,
      { messages: 2 },
    ],
    [
      'an error, with the stream left open',
      (r) => r.open().send({ type: 'error', error: 'no' }),
      /"no"/,
      { messages: 1 },
    ],
    [
      'an end after some messages',
      (r) => r.open().send(INFO, INFO).end(),
      /after 2 messages without "complete"/,
      { messages: 2, last: 'info: Saving filesystem state...' },
    ],
    [
      'an end in the middle of the last line',
      (r) => r.open().send(INFO, '{"type":"comple').end(),
      /after 1 message without/,
      { messages: 1 },
    ],
    ['no body at all', (r) => r.open().end(), /no message/, { messages: 0 }],
    [
      'an HTML page',
      (r) => r.answer(200, '<!doctype html>\n<html>\n<p>Please sign in\n</html>\n', 'text/html'),
      /no message.*HTML/,
      { messages: 0 },
    ],
    [
      'JSON over several lines',
      (r) => r.answer(200, '{\n "type":\n "complete"\n}\n'),
      /message 1 .* no type/,
      { messages: 1 },
    ],
    [
      'lines that are no JSON',
      (r) => r.open().send('type: complete\n', '{"type":"complete"\n', '\u0000\uFFFD\n').end(),
      /no message/,
      { messages: 0 },
    ],
    ['the line null', (r) => r.open().send(INFO, 'null\n', COMPLETE).end(), /after 1 message without/, { messages: 1 }],
    ['the line null, with the stream left open', (r) => r.open().send('null\n'), /no message/, { messages: 0 }],
    ['a line that is a number', (r) => r.open().send('42\n', COMPLETE).end(), /message 1 .* no type/, { messages: 1 }],
    ['a line that is a text', (r) => r.open().send('"complete"\n', COMPLETE).end(), /no type/, { messages: 1 }],
    ['a line that is a list', (r) => r.open().send('["complete"]\n', COMPLETE).end(), /no type/, { messages: 1 }],
    ['an object without a type', (r) => r.open().send({ complete: true }, COMPLETE).end(), /no type/, { messages: 1 }],
  ])('%s', async (_, answer, message, details) => {
    let received: Received | undefined;
    const error = await failing((come) => {
      received = come;
      answer(come);
    });
    expect(error).toMatchObject({ code: 'IO', retryable: true, details });
    expect(error.message).toMatch(message);
    expect(error.message).not.toMatch(/\n/);
    // Whatever was left open is closed by the driver.
    await received?.closed;
  });

  it('a connection that is cut in the middle', async () => {
    const server = await sprites();
    const call = rejection(create(driverOf(server)));
    const received = await server.create();
    received.open().send(INFO);
    server.add(received.comment);
    received.cut();
    const error = await call;
    expect(error).toMatchObject({ code: 'IO', retryable: true, details: { sandboxId: 'box' } });
    expect((error as Error).message).toMatch(/reading the answer of the Sprite failed/);
    expect((error as Error).cause).toBeInstanceOf(Error);
    expect(server.lists).toBe(1);
  });
});

describe('a request that is rejected', () => {
  it.each([
    [429, 'IO', true],
    [500, 'IO', true],
    [503, 'IO', true],
    [400, 'IO', false],
    [401, 'PERMISSION_DENIED', false],
    [403, 'PERMISSION_DENIED', false],
    [404, 'NOT_FOUND', false],
  ] as const)('status %i gives %s, retryable: %s', async (status, code, retryable) => {
    const error = await failing((received) => received.answer(status, 'not\nnow'));
    expect(error).toMatchObject({ code, retryable, details: { status } });
    expect(error.message).toMatch(new RegExp(`^asking the Sprite for a checkpoint failed: .*${status}.*not now`));
    expect(error.cause).toBeInstanceOf(Error);
  });

  it('the connection is cut before an answer', async () => {
    const error = await failing((received) => received.cut());
    expect(error).toMatchObject({ code: 'IO', retryable: true });
    expect(error.cause).toBeInstanceOf(TypeError);
  });

  it('nobody listens', async () => {
    const server = await sprites();
    const driver = driverOf(server);
    await server.stop();
    expect(await rejection(create(driver))).toMatchObject({ code: 'IO', retryable: true });
  });

  it('the SDK throws at once', async () => {
    const driver = spritesDriver({
      createCheckpoint() {
        throw new Error('not connected');
      },
      listCheckpoints: async () => [],
    });
    const error = await rejection(create(driver));
    expect(error).toMatchObject({ code: 'IO', message: expect.stringContaining('not connected') });
  });
});

describe('the SDK 0.0.1, whose call gives a raw Response', () => {
  it('is refused with a sentence that names the version, and its connection is closed', async () => {
    const server = await sprites();
    // @ts-expect-error The types refuse it as well.
    const driver = spritesDriver(server.oldSprite());
    const call = rejection(create(driver));
    const received = await server.create();
    server.add(received.comment);
    received.open().send(INFO, COMPLETE);
    const error = await call;
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', retryable: false, details: { argument: 'sprite' } });
    expect((error as Error).message).toBe(
      'createCheckpoint of the Sprite answered with a raw Response where a stream of messages is expected: @fly/sprites 0.1.0 or later is needed',
    );
    expect(await received.closed).toBe('cut');
  });

  it.each([
    ['nothing', undefined, 'a value of type undefined'],
    ['null', null, 'null'],
    ['an object', { id: 'v1' }, 'an object'],
  ])('so is one that gives %s', async (_, answer, kind) => {
    // biome-ignore lint/suspicious/noExplicitAny: what types would refuse
    const driver = spritesDriver({ createCheckpoint: async () => answer as any, listCheckpoints: async () => [] });
    const error = await rejection(create(driver));
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect((error as Error).message).toContain(`answered with ${kind} where`);
  });
});
