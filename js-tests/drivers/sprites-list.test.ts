// G12: the id of a Sprite's checkpoint is found in the list, by the comment.
import { spritesDriver } from 'turnback';
import { describe, expect, it } from 'vitest';
import { rejection } from '../node/support.js';
import { COMPLETE, type FakeSprites, type Listed } from './fake-sprites.js';
import { COMMENT, create, driverOf, sprites } from './world.js';

const OTHER = 'turnback-pre-agent-t10';

/** A server whose checkpoints all complete; `made` says what appears in the list. */
async function completing(made: (server: FakeSprites, comment: string) => void): Promise<FakeSprites> {
  const server = await sprites();
  server.onCreate = (received) => {
    made(server, received.comment);
    received.open().send(COMPLETE).end();
  };
  return server;
}

describe('the new checkpoint in the list', () => {
  it('is the one with exactly the comment', async () => {
    const server = await completing((world, comment) => {
      world.add(comment);
      world.add(OTHER);
      world.add(`${comment} `);
      world.add(comment.toUpperCase());
      world.add('', { comment: undefined as unknown as string });
    });
    expect(await create(driverOf(server))).toEqual({ checkpointId: 'v1' });
    // One look before it was made, and one after.
    expect(server.lists).toBe(2);
  });

  const time = (minute: number) => new Date(Date.UTC(2026, 0, 5, 10, minute)).toISOString();
  it.each<[string, Partial<Listed>[], string]>([
    ['by its time, oldest first', [{ id: 'v1' }, { id: 'v2' }], 'v2'],
    [
      'by its time, newest first',
      [
        { id: 'v2', create_time: time(9) },
        { id: 'v1', create_time: time(1) },
      ],
      'v2',
    ],
    [
      'by its time, whatever its number',
      [
        { id: 'v3', create_time: time(9) },
        { id: 'v10', create_time: time(1) },
      ],
      'v3',
    ],
    [
      'by its number in the same second',
      [
        { id: 'v10', create_time: time(1) },
        { id: 'v9', create_time: time(1) },
      ],
      'v10',
    ],
    [
      'by a time that can be read',
      [
        { id: 'v2', create_time: time(1) },
        { id: 'v3', create_time: 'soon' },
      ],
      'v2',
    ],
    [
      'and not the running state',
      [
        { id: 'v1', create_time: time(1) },
        { id: 'Current', create_time: time(9) },
      ],
      'v1',
    ],
    [
      'and not an entry without an id',
      [
        { id: 'v1', create_time: time(1) },
        { id: '', create_time: time(9) },
      ],
      'v1',
    ],
    [
      'and not an entry whose id is no text',
      [
        { id: 'v1', create_time: time(1) },
        { id: 7 as unknown as string, create_time: time(9) },
      ],
      'v1',
    ],
  ])('of two with the comment is the newest: %s', async (_, entries, expected) => {
    const server = await completing((world, comment) => {
      for (const entry of entries) world.add(comment, entry);
    });
    expect(await create(driverOf(server))).toEqual({ checkpointId: expected });
  });

  it('appears later: the list is read again', async () => {
    const server = await completing(() => {});
    server.onList = (received) => {
      if (server.lists === 4) server.add(COMMENT);
      received.json(server.checkpoints);
    };
    expect(await create(driverOf(server))).toEqual({ checkpointId: 'v1' });
    expect(server.lists).toBe(4);
  });

  it('never appears: a failure that says so', async () => {
    const server = await completing((world) => world.add(OTHER));
    const error = await rejection(create(driverOf(server)));
    expect(error).toMatchObject({ code: 'IO', retryable: true, details: { comment: COMMENT, looks: 3 } });
    expect((error as Error).message).toBe(
      "the Sprite reported a complete checkpoint, but its id was not found in 3 looks: it is not in the list; look for the comment in the Sprite's list",
    );
    expect(server.lists).toBe(4);
  });

  it('is marked as unsound: a failure, unless the mark goes', async () => {
    const server = await completing((world, comment) => world.add(comment, { health: 'missing\nblocks' }));
    const driver = driverOf(server);
    const error = await rejection(create(driver));
    expect(error).toMatchObject({ code: 'IO', retryable: true });
    expect((error as Error).message).toContain('the list marks v1 as "missing blocks"');
    server.onList = (received) => {
      for (const entry of server.checkpoints) if (server.lists >= 8) entry.health = '';
      received.json(server.checkpoints);
    };
    expect(await create(driver)).toEqual({ checkpointId: 'v2' });
  });

  it('an older sound one does not stand in for a newer unsound one', async () => {
    const server = await completing((world, comment) => {
      world.add(comment);
      world.add(comment, { health: 'damaged' });
    });
    expect(await rejection(create(driverOf(server)))).toMatchObject({ code: 'IO' });
  });
});

describe('a comment that was used before', () => {
  it('a late success of an earlier attempt is not taken for the new checkpoint', async () => {
    const server = await sprites();
    const driver = driverOf(server);
    const controller = new AbortController();
    const first = rejection(create(driver, controller.signal));
    await server.create();
    controller.abort();
    expect(await first).toMatchObject({ code: 'ABORTED' });
    server.add(COMMENT); // Sprites finishes it all the same.

    const second = create(driver);
    (await server.create()).open().send(COMPLETE).end();
    server.onList = (received) => {
      // The list lags behind: there was one look of the first attempt, and two of this one.
      if (server.lists === 4) server.add(COMMENT);
      received.json(server.checkpoints);
    };
    expect(await second).toEqual({ checkpointId: 'v2' });
  });

  it('if the new one never appears, the old one is no answer', async () => {
    const server = await completing((world, comment) => {
      if (world.checkpoints.length === 0) world.add(comment);
    });
    const driver = driverOf(server);
    expect(await create(driver)).toEqual({ checkpointId: 'v1' });
    expect(await rejection(create(driver))).toMatchObject({ code: 'IO', details: { looks: 3 } });
  });

  it('by another process, or another driver of this one: while the list lags, its checkpoint is not taken for the new one', async () => {
    const server = await sprites();
    server.onCreate = (received) => received.open().send(COMPLETE).end();
    const earlier = server.add(COMMENT).id;
    server.onList = (received) => {
      if (server.lists === 3) server.add(COMMENT);
      received.json(server.checkpoints);
    };
    const second = await create(driverOf(server));
    expect(second).toEqual({ checkpointId: 'v2' });
    expect(second).not.toEqual({ checkpointId: earlier });
    server.onList = (received) => {
      if (server.lists === 6) server.add(COMMENT);
      received.json(server.checkpoints);
    };
    expect(await create(driverOf(server))).toEqual({ checkpointId: 'v3' });
  });

  it('an entry that only now appears, and is older than what was there before, is not the new one', async () => {
    const server = await completing(() => {});
    const at = (minute: number) => new Date(Date.UTC(2026, 0, 5, 11, minute)).toISOString();
    server.add(OTHER, { id: 'v5', create_time: at(5) });
    server.onList = (received) => {
      if (server.lists === 2) server.add(COMMENT, { id: 'v4', create_time: at(4) });
      if (server.lists === 3) server.add(COMMENT, { id: 'v6', create_time: at(6) });
      received.json(server.checkpoints);
    };
    expect(await create(driverOf(server))).toEqual({ checkpointId: 'v6' });
  });

  it('a list that cannot be read beforehand fails the attempt before anything is made', async () => {
    const server = await completing((world, comment) => world.add(comment));
    server.onList = (received) => received.answer(429, 'slow down');
    const error = await rejection(create(driverOf(server)));
    expect(error).toMatchObject({ code: 'IO', retryable: true, details: { status: 429 } });
    expect(server.lists).toBe(3);
    expect(server.checkpoints).toEqual([]);
  });

  it.each([429, 500])(
    'G12: a list that fails beforehand for a moment, with status %i, is read again',
    async (status) => {
      const server = await completing((world, comment) => world.add(comment));
      server.onList = (received) =>
        server.lists < 3 ? received.answer(status, 'not now') : received.json(server.checkpoints);
      expect(await create(driverOf(server))).toEqual({ checkpointId: 'v1' });
    },
  );

  it('a list that is refused for good is not asked again', async () => {
    const server = await completing((world, comment) => world.add(comment));
    server.onList = (received) => received.answer(403, 'no');
    expect(await rejection(create(driverOf(server)))).toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(server.lists).toBe(1);
  });
});

describe('a list that fails', () => {
  it.each([429, 500])('for a moment with status %i is read again', async (status) => {
    const server = await completing((world, comment) => world.add(comment));
    server.onList = (received) =>
      [2, 3].includes(server.lists) ? received.answer(status, 'not now') : received.json(server.checkpoints);
    expect(await create(driverOf(server))).toEqual({ checkpointId: 'v1' });
  });

  it.each<[string, string, string]>([
    ['with status 429', '', 'status 429'],
    ['with a cut connection', '', 'fetch failed'],
    ['with an object', '{"checkpoints":[]}', 'failed'],
    ['with null', 'null', 'failed'],
    ['with a null in it', '[null]', 'failed'],
    ['with an HTML page', '<!doctype html>', 'failed'],
  ])('for good %s: a failure that says so', async (name, body, expected) => {
    const server = await completing(() => {});
    server.onList = (received) => {
      if (server.lists === 1) received.json([]);
      else if (name.includes('429')) received.answer(429, 'slow down');
      else if (name.includes('cut')) received.cut();
      else received.answer(200, body);
    };
    const error = await rejection(create(driverOf(server)));
    expect(error).toMatchObject({ code: 'IO', retryable: true, details: { looks: 3 } });
    expect((error as Error).message).toContain('reported a complete checkpoint, but its id was not found');
    expect((error as Error).message).toContain(expected);
    expect((error as Error).cause).toMatchObject({ name: 'TurnbackError' });
  });

  it.each([
    [401, 'PERMISSION_DENIED'],
    [404, 'NOT_FOUND'],
  ])('with status %i is not read again', async (status, code) => {
    const server = await completing((world, comment) => world.add(comment));
    server.onList = (received) => (server.lists === 1 ? received.json([]) : received.answer(status, 'no'));
    expect(await rejection(create(driverOf(server)))).toMatchObject({ code, retryable: false });
    expect(server.lists).toBe(2);
  });

  it('that is no array, from a Sprite of another make', async () => {
    const server = await completing(() => {});
    const real = server.sprite();
    const driver = spritesDriver(
      {
        createCheckpoint: (comment) => real.createCheckpoint(comment),
        listCheckpoints: async () => ({ checkpoints: [] }) as unknown as [],
      },
      { listDelaysMs: [] },
    );
    const error = await rejection(create(driver));
    expect((error as Error).message).toContain('it is no list');
  });
});

describe('arguments', () => {
  const sound = { createCheckpoint: async () => expect.unreachable(), listCheckpoints: async () => [] };
  const code = 'INVALID_ARGUMENT';
  const throwing = (call: () => unknown) => expect(call).toThrow(expect.objectContaining({ code }));
  // biome-ignore lint/suspicious/noExplicitAny: what types would refuse
  const any = (value: unknown) => value as any;

  it.each([
    ['undefined', undefined],
    ['null', null],
    ['a name', 'my-sprite'],
    ['no methods', {}],
    ['no list', { createCheckpoint: sound.createCheckpoint }],
  ])('a Sprite that is %s is refused at once', (_, value) => throwing(() => spritesDriver(any(value))));

  it('options that do not exist or have no sense are refused at once', () => {
    throwing(() => spritesDriver(sound, any({ listDelayMs: [1] })));
    throwing(() => spritesDriver(sound, { listDelaysMs: [-1] }));
    throwing(() => spritesDriver(sound, { listDelaysMs: any(100) }));
    throwing(() => spritesDriver(sound, { logger: any({}) }));
  });

  it.each([
    ['no request', undefined],
    ['no comment', { sandboxId: 'box', signal: new AbortController().signal }],
    ['an empty comment', { sandboxId: 'box', comment: '', signal: new AbortController().signal }],
    ['no signal', { sandboxId: 'box', comment: COMMENT }],
    ['no sandbox', { comment: COMMENT, signal: new AbortController().signal }],
  ])('%s: the call rejects', async (_, request) => {
    expect(await rejection(spritesDriver(sound).createCheckpoint(any(request)))).toMatchObject({ code });
  });

  it.each<[string, () => unknown, object]>([
    ['gives no Sprite', () => 'my-sprite', { code }],
    [
      'throws',
      () => expect.fail('no such sandbox'),
      { code: 'IO', message: expect.stringContaining('no such sandbox') },
    ],
    ['rejects', () => Promise.reject(new Error('no net')), { code: 'IO', message: expect.stringContaining('no net') }],
  ])('a function that %s: the call rejects', async (_, choose, expected) => {
    expect(await rejection(create(spritesDriver(any(choose))))).toMatchObject(expected);
  });
});
