// What any driver must do (G5, G10, G12): one suite for all of them. A driver's test file gives a world for it, and a reason for
// each case that cannot hold there.
import { getEventListeners } from 'node:events';
import { checkedAnswer, type Driver } from 'turnback';
import { describe, expect, it, onTestFinished } from 'vitest';

/** An attempt that was stopped in its middle. */
export interface Hold {
  /** Resolves when the driver has reached the middle: it has asked for the checkpoint, which is not made yet. */
  reached: Promise<void>;
  /** Lets it go on; resolves when nothing of it is left to come. */
  release(): Promise<void>;
}

/** A driver and what is behind it. */
export interface World {
  driver: Driver;
  sandboxId: string;
  /** The ids of the checkpoints that exist now. */
  published(): Promise<string[]>;
  /** Stops the next attempt in its middle. */
  hold(): Hold;
  /** Has the next attempt fail behind the driver. */
  fail(): void;
  close(): Promise<void>;
}

const live = () => new AbortController().signal;

const create = (world: World, turn: string, signal = live()) =>
  world.driver.createCheckpoint({ sandboxId: world.sandboxId, comment: `turnback-pre-agent-${turn}`, signal });

/** The error that a promise rejects with, or undefined while it is pending after many turns of the event loop, or fulfilled. */
async function rejection(promise: Promise<unknown>): Promise<unknown> {
  let error: unknown;
  let settled = false;
  promise.then(
    () => {
      settled = true;
    },
    (reason: unknown) => {
      settled = true;
      error = reason;
    },
  );
  for (let turn = 0; turn < 1000 && !settled; turn += 1) await new Promise(setImmediate);
  return error;
}

/** An attempt that was given up in its middle. */
async function givenUp(world: World): Promise<{ call: Promise<unknown>; hold: Hold }> {
  const controller = new AbortController();
  const hold = world.hold();
  const call = create(world, 'a', controller.signal);
  // Whoever is interested asks below; until then a rejection is no mistake of the test.
  call.catch(() => {});
  await hold.reached;
  controller.abort('given up');
  return { call, hold };
}

/** Every rule. Each throws when it does not hold. */
export const CASES = {
  'answers with an id or with nothing': async (world: World) => {
    const answer = checkedAnswer(await create(world, 'a'));
    const published = await world.published();
    expect(published).toHaveLength(1);
    if (answer.checkpointId !== undefined) expect(published).toEqual([answer.checkpointId]);
  },
  'makes a checkpoint for each call': async (world: World) => {
    const first = checkedAnswer(await create(world, 'a'));
    const second = checkedAnswer(await create(world, 'b'));
    expect(await world.published()).toHaveLength(2);
    if (first.checkpointId !== undefined) expect(second.checkpointId).not.toBe(first.checkpointId);
  },
  'makes a checkpoint for each of several calls at once': async (world: World) => {
    const answers = await Promise.all(Array.from({ length: 8 }, (_, at) => create(world, `t${at}`)));
    const ids = answers.map((answer) => checkedAnswer(answer).checkpointId).filter((id) => id !== undefined);
    const published = await world.published();
    expect(published).toHaveLength(8);
    if (ids.length > 0) expect([...ids].sort()).toEqual([...published].sort());
  },
  'starts nothing when the signal has fired': async (world: World) => {
    expect(await rejection(create(world, 'a', AbortSignal.abort('given up')))).toBeInstanceOf(Error);
    expect(await world.published()).toEqual([]);
  },
  'rejects when the signal fires, whatever it waits for': async (world: World) => {
    const { call, hold } = await givenUp(world);
    try {
      expect(await rejection(call)).toBeInstanceOf(Error);
    } finally {
      await hold.release();
    }
  },
  // A driver that cannot stop the work may answer late, with an id: the guard has that checkpoint deleted (G10).
  'leaves no checkpoint that was given up, or one that can be deleted': async (world: World) => {
    const { call, hold } = await givenUp(world);
    await hold.release();
    const late = await call.catch(() => undefined);
    const { checkpointId } = checkedAnswer(late);
    if (checkpointId !== undefined) await world.driver.deleteCheckpoint?.(checkpointId);
    expect(await world.published()).toEqual([]);
  },
  'succeeds after an attempt that was given up': async (world: World) => {
    const { call, hold } = await givenUp(world);
    await hold.release();
    await call.catch(() => {});
    const before = await world.published();
    const { checkpointId } = checkedAnswer(await create(world, 'a'));
    const fresh = (await world.published()).filter((id) => !before.includes(id));
    expect(fresh).toHaveLength(1);
    if (checkpointId !== undefined) expect(fresh).toEqual([checkpointId]);
  },
  // The guard asks for the late one's deletion only if no turn counts on its id (G10).
  'keeps the checkpoint of a retry when the late one is deleted': async (world: World) => {
    const { call, hold } = await givenUp(world);
    await hold.release();
    const late = checkedAnswer(await call.catch(() => undefined));
    const retry = checkedAnswer(await create(world, 'a'));
    if (late.checkpointId !== undefined && late.checkpointId !== retry.checkpointId) {
      await world.driver.deleteCheckpoint?.(late.checkpointId);
    }
    const published = await world.published();
    expect(published.length).toBeGreaterThan(0);
    if (retry.checkpointId !== undefined) expect(published).toContain(retry.checkpointId);
  },
  'rejects with an error when the checkpoint fails': async (world: World) => {
    world.fail();
    const error = await create(world, 'a').then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(Error);
    expect((error as Error).message).not.toBe('');
    expect(await world.published()).toEqual([]);
  },
  'succeeds after an attempt that failed': async (world: World) => {
    world.fail();
    await create(world, 'a').catch(() => {});
    checkedAnswer(await create(world, 'a'));
    expect(await world.published()).toHaveLength(1);
  },
  'never throws at once': async (world: World) => {
    const nonsense = [undefined, {}, { sandboxId: world.sandboxId, comment: 'c', signal: AbortSignal.abort() }];
    for (const request of nonsense) {
      const call: unknown = (world.driver.createCheckpoint as (request: unknown) => unknown)(request);
      expect(call).toBeInstanceOf(Promise);
      await (call as Promise<unknown>).catch(() => {});
    }
  },
  'leaves no listener on the signal': async (world: World) => {
    const signal = live();
    await create(world, 'a', signal);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    world.fail();
    await create(world, 'b', signal).catch(() => {});
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  },
  'keeps a checkpoint when the signal fires afterwards': async (world: World) => {
    const controller = new AbortController();
    await create(world, 'a', controller.signal);
    controller.abort('too late');
    await new Promise(setImmediate);
    expect(await world.published()).toHaveLength(1);
  },
  // Of a driver that can say it: `isDeleted` is asked at each batch, so that it answers at once.
  'knows which of its checkpoints are deleted': async (world: World) => {
    const isDeleted = (id: string) => world.driver.isDeleted?.(id);
    const { checkpointId } = checkedAnswer(await create(world, 'a'));
    const kept = checkedAnswer(await create(world, 'b'));
    expect(checkpointId).toBeTypeOf('string');
    expect(isDeleted(checkpointId as string)).toBe(false);
    await world.driver.deleteCheckpoint?.(checkpointId as string);
    expect([checkpointId, kept.checkpointId].map((id) => isDeleted(id as string))).toEqual([true, false]);
  },
  'deletes a checkpoint': async (world: World) => {
    const { checkpointId } = checkedAnswer(await create(world, 'a'));
    const kept = checkedAnswer(await create(world, 'b'));
    expect(world.driver.deleteCheckpoint).toBeTypeOf('function');
    expect(checkpointId).toBeTypeOf('string');
    await world.driver.deleteCheckpoint?.(checkpointId as string);
    expect(await world.published()).toEqual([kept.checkpointId]);
  },
} satisfies Record<string, (world: World) => Promise<void>>;

export type CaseName = keyof typeof CASES;

/** Runs every case for a driver. `skips` gives the reason for each that cannot hold. */
export function driverContract(
  name: string,
  open: () => Promise<World>,
  skips: Partial<Record<CaseName, string>> = {},
) {
  describe(`the contract of drivers (G12): ${name}`, () => {
    for (const [title, run] of Object.entries(CASES)) {
      it(title, async (context) => {
        const reason = skips[title as CaseName];
        if (reason !== undefined) context.skip(reason);
        const world = await open();
        onTestFinished(() => world.close());
        await run(world);
      });
    }
  });
}
