// The contract of drivers on the smallest driver that keeps it, and each of its cases on a driver that breaks just that.
import { checkedAnswer, type Driver } from 'turnback';
import { describe, expect, it } from 'vitest';
import { CASES, type CaseName, driverContract, type World } from './driver.js';
import { memoryWorld } from './memory.js';

driverContract('in memory', memoryWorld);

type Create = Driver['createCheckpoint'];
type Request = Parameters<Create>[0];

const NEVER = new AbortController().signal;

/** What a broken driver does instead, given the sound one. */
const BROKEN: Record<CaseName, (create: Create, world: World) => Partial<Driver>> = {
  'answers with an id or with nothing': (create) => ({
    createCheckpoint: async (request) => {
      await create(request);
      return { checkpointId: 'another' };
    },
  }),
  'makes a checkpoint for each call': (create) => {
    let first: ReturnType<Create> | undefined;
    return {
      createCheckpoint: (request) => {
        first ??= create(request);
        return first;
      },
    };
  },
  'makes a checkpoint for each of several calls at once': (create) => {
    let running: ReturnType<Create> | undefined;
    return {
      createCheckpoint: (request) => {
        running ??= create(request).finally(() => {
          running = undefined;
        });
        return running;
      },
    };
  },
  'starts nothing when the signal has fired': (create) => ({
    createCheckpoint: (request) => create(request.signal.aborted ? { ...request, signal: NEVER } : request),
  }),
  'rejects when the signal fires, whatever it waits for': (create) => ({
    createCheckpoint: async (request) => {
      const answer = await create({ ...request, signal: NEVER });
      if (request.signal.aborted) throw new Error('cancelled');
      return answer;
    },
  }),
  'leaves no checkpoint that was given up, or one that can be deleted': (create) => ({
    createCheckpoint: (request) => {
      const work = create({ ...request, signal: NEVER });
      return new Promise((resolve, reject) => {
        request.signal.addEventListener('abort', () => reject(new Error('cancelled')), { once: true });
        work.then(resolve, reject);
      });
    },
  }),
  'succeeds after an attempt that was given up': (create) => {
    let broken = false;
    return {
      createCheckpoint: async (request) => {
        if (broken) throw new Error('still waiting for the last one');
        request.signal.addEventListener('abort', () => {
          broken = true;
        });
        return create(request);
      },
    };
  },
  'keeps the checkpoint of a retry when the late one is deleted': (create, world) => {
    let givenUp = false;
    return {
      createCheckpoint: async (request) => {
        request.signal.addEventListener('abort', () => {
          givenUp = true;
        });
        const again = givenUp;
        const answer = checkedAnswer(await create(request));
        if (again) await world.driver.deleteCheckpoint?.(answer.checkpointId ?? '');
        return answer;
      },
    };
  },
  'rejects with an error when the checkpoint fails': (create) => ({
    createCheckpoint: (request) => create(request).catch(() => undefined),
  }),
  'succeeds after an attempt that failed': (create) => {
    let broken = false;
    return {
      createCheckpoint: async (request) => {
        if (broken) throw new Error('it failed before');
        return create(request).catch((error: unknown) => {
          broken = true;
          throw error;
        });
      },
    };
  },
  'never throws at once': (create) => ({
    createCheckpoint: (request: Request) => {
      request.signal.throwIfAborted();
      return create(request);
    },
  }),
  'leaves no listener on the signal': (create) => ({
    createCheckpoint: (request) => {
      request.signal.addEventListener('abort', () => {});
      return create(request);
    },
  }),
  'keeps a checkpoint when the signal fires afterwards': (create, world) => ({
    createCheckpoint: async (request) => {
      const answer = checkedAnswer(await create(request));
      request.signal.addEventListener('abort', () => world.driver.deleteCheckpoint?.(answer.checkpointId ?? ''));
      return answer;
    },
  }),
  'knows which of its checkpoints are deleted': () => ({ isDeleted: () => false }),
  'deletes a checkpoint': () => ({ deleteCheckpoint: async () => {} }),
};

describe('the contract of drivers finds a driver that breaks it', () => {
  for (const [title, run] of Object.entries(CASES)) {
    it(title, async () => {
      const world = await memoryWorld();
      const { driver } = world;
      const create: Create = (request) => driver.createCheckpoint(request);
      const broken = { ...driver, ...BROKEN[title as CaseName](create, world) };
      await expect(run({ ...world, driver: broken })).rejects.toThrow();
    });
  }
});

describe('what a driver resolves with (G9)', () => {
  it('is an answer, or nothing', () => {
    expect(checkedAnswer(undefined)).toEqual({ partial: false });
    expect(checkedAnswer({})).toEqual({ partial: false });
    expect(checkedAnswer({ checkpointId: 'v1', size: 12 })).toEqual({ checkpointId: 'v1', partial: false });
    expect(checkedAnswer({ partial: true })).toEqual({ partial: true });
  });

  it.each([
    ['null', null],
    ['a bare id', 'v1'],
    ['a number', 7],
    ['a list', ['v1']],
    ['an answer of the SDK as it came', { snapshotId: 'v1' }],
    ['an id that is no text', { checkpointId: 7 }],
    ['an empty id', { checkpointId: '' }],
    ['an endless id', { checkpointId: 'v'.repeat(1025) }],
    ['a partial that is no boolean', { checkpointId: 'v1', partial: 'no' }],
  ])('%s is refused', (_, value) => {
    expect(() => checkedAnswer(value)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});
