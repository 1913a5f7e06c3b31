// What the tests of the Sprites driver share.
import type { Sprite } from '@fly/sprites';
import { type Driver, type Logger, spritesDriver } from 'turnback';
import { onTestFinished } from 'vitest';
import { deferred } from '../contract/deferred.js';
import type { World } from '../contract/driver.js';
import { COMPLETE, FakeSprites, INFO, type Received } from './fake-sprites.js';

export const COMMENT = 'turnback-pre-agent-t1';

/** A server that goes with the test. */
export async function sprites(): Promise<FakeSprites> {
  const server = await FakeSprites.start();
  onTestFinished(() => server.stop());
  return server;
}

/** Asks a driver for a checkpoint. */
export const create = (driver: Driver, signal = new AbortController().signal, comment = COMMENT) =>
  driver.createCheckpoint({ sandboxId: 'box', comment, signal });

/** A driver for a Sprite of the server that looks into the list three times, without waiting in between. */
export const driverOf = (server: FakeSprites, sprite: Sprite = server.sprite()) =>
  spritesDriver(sprite, { listDelaysMs: [0, 0] });

/** A Sprite of the real SDK whose reads can be counted: `reads(n)` resolves when the n-th read of its stream has begun. */
export function counted(sprite: Sprite): { sprite: Sprite; reads(n: number): Promise<void> } {
  let begun = 0;
  const waiting: { n: number; resolve: () => void }[] = [];
  const open = sprite.createCheckpoint.bind(sprite);
  sprite.createCheckpoint = async (comment) => {
    const stream = await open(comment);
    const next = stream.next.bind(stream);
    stream.next = () => {
      const read = next();
      begun += 1;
      for (const { n, resolve } of waiting) if (n <= begun) resolve();
      return read;
    };
    return stream;
  };
  return {
    sprite,
    reads(n) {
      return new Promise((resolve) => {
        if (n <= begun) resolve();
        else waiting.push({ n, resolve });
      });
    },
  };
}

/** A logger that keeps what it hears. */
export function listening(): Logger & { heard: string[] } {
  const heard: string[] = [];
  const keep = (level: string) => (_: object, message: string) => heard.push(`${level}: ${message}`);
  return { heard, debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') };
}

/** The world of the contract: Sprites finishes what it began, whether or not anyone still listens. */
export async function spritesWorld(): Promise<World> {
  const server = await FakeSprites.start();
  let gate: { reached: () => void; released: Promise<void>; ended: () => void } | undefined;
  let failing = false;
  const answer = async (received: Received) => {
    const [held, fails] = [gate, failing];
    [gate, failing] = [undefined, false];
    received.open().send(INFO);
    held?.reached();
    await held?.released;
    if (fails) received.send({ type: 'error', error: 'disk full' }).end();
    else {
      server.add(received.comment);
      received.send(COMPLETE).end();
    }
    await received.closed;
    held?.ended();
  };
  server.onCreate = (received) => void answer(received);
  return {
    driver: driverOf(server),
    sandboxId: 'box',
    published: async () => server.checkpoints.map(({ id }) => id),
    hold() {
      const [reached, released, ended] = [deferred(), deferred(), deferred()];
      gate = { reached: reached.resolve, released: released.promise, ended: ended.resolve };
      return {
        reached: reached.promise,
        release: () => {
          released.resolve();
          return ended.promise;
        },
      };
    },
    fail() {
      failing = true;
    },
    close: () => server.stop(),
  };
}
