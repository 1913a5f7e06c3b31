// G7, G11, G13, X3: functions of home-made tool-runners with the guard before them.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createGuard, localDriver, turnIdOf } from 'turnback';
import { guardFunction } from 'turnback/plain';
import { describe, expect, it } from 'vitest';
import { recordingGuard, rejection } from '../bash/support.js';
import { scene } from '../node/support.js';

interface Call {
  run: object;
  text: string;
}

describe('guardFunction', () => {
  it('one checkpoint for the parallel calls of a run, another for the next run, of the state before each', async () => {
    const { manager, workspace } = await scene();
    const guard = createGuard({ driver: localDriver(manager, workspace), enabled: () => true, timeoutMs: 60_000 });
    const write = guardFunction(({ text }: Call) => writeFileSync(join(workspace, 'a.txt'), text), {
      guard,
      sandboxId: 'w',
      turnId: ({ run }) => turnIdOf(run),
    });
    const [first, second] = [{}, {}];
    await Promise.all([write({ run: first, text: '1' }), write({ run: first, text: '1' })]);
    await write({ run: first, text: '2' });
    await write({ run: second, text: '3' });
    const made = (await manager.listCheckpoints()).filter(({ phase }) => phase === 'pre_batch');
    const texts = await Promise.all(made.map(({ checkpointId }) => manager.readFile(checkpointId, 'a.txt')));
    expect(texts.map(String)).toEqual(['one\n', '2']);
    expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('3');
  });

  it('without a turn of the caller’s each call is one', async () => {
    const { guard, asked } = recordingGuard();
    const work = guardFunction((n: number) => n + 1, { guard, sandboxId: (n) => `box-${n}`, turnId: () => undefined });
    expect(await Promise.all([work(1), work(2)])).toEqual([2, 3]);
    expect(asked.map(({ sandboxId }) => sandboxId)).toEqual(['box-1', 'box-2']);
    expect(new Set(asked.map(({ turnId }) => turnId)).size).toBe(2);
  });

  it('passes on this, all arguments, results and errors; an async generator stays one', async () => {
    const { guard, asked } = recordingGuard();
    const options = { guard, sandboxId: 'w' };
    const tool = {
      name: 'knife',
      use: guardFunction(function (this: { name: string }, ...args: number[]) {
        return [this.name, ...args];
      }, options),
    };
    expect(await tool.use(1, 2)).toEqual(['knife', 1, 2]);
    const failure = new Error('blunt');
    const failing = guardFunction(() => {
      throw failure;
    }, options);
    expect(await rejection(failing())).toBe(failure);
    let closed = false;
    const slices = guardFunction(async function* (count: number) {
      try {
        for (let n = 0; n < count; n += 1) yield n;
      } finally {
        closed = true;
      }
    }, options);
    const seen: number[] = [];
    for await (const slice of slices(5)) {
      seen.push(slice);
      if (slice === 1) break;
    }
    expect(seen).toEqual([0, 1]);
    expect(closed).toBe(true);
    expect(asked).toHaveLength(3);
  });

  it('G5: does not run when the guard refuses', async () => {
    const refusal = Object.assign(new Error('no checkpoint'), { code: 'CHECKPOINT_REQUIRED' });
    const { guard } = recordingGuard(() => Promise.reject(refusal));
    let ran = false;
    const work = guardFunction(
      () => {
        ran = true;
      },
      { guard, sandboxId: 'w' },
    );
    expect(await rejection(work())).toBe(refusal);
    expect(ran).toBe(false);
  });

  it('F29: nor when its signal fires while the guard answers; the slot is given back', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const { guard, released } = recordingGuard(async (batch) => {
      controller.abort(reason);
      expect(batch.signal).toBe(controller.signal);
      return { outcome: 'created', protected: true, late: false, partial: false, reason: 'new_turn', durationMs: 1 };
    });
    let ran = false;
    const work = guardFunction(
      (_: AbortSignal) => {
        ran = true;
      },
      { guard, sandboxId: 'w', turnId: () => 't', signal: (signal) => signal },
    );
    expect(await rejection(work(controller.signal))).toBe(reason);
    await new Promise(setImmediate);
    expect(ran).toBe(false);
    expect(released).toMatchObject([{ sandboxId: 'w', turnId: 't' }]);
  });

  it('F29: whenever the signal fires, a call either ran or gave its slot back', async () => {
    const outcomes = new Set<string>();
    for (let ticks = 0; ticks < 30; ticks += 1) {
      const controller = new AbortController();
      const { guard, asked, released } = recordingGuard();
      let ran = 0;
      const options = { guard, sandboxId: 'w', turnId: () => 't', signal: () => controller.signal };
      const called = guardFunction(() => {
        ran += 1;
      }, options)();
      const settled = called.catch(() => {});
      for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
      controller.abort();
      await settled;
      await new Promise(setImmediate);
      expect([asked.length, released.length + ran]).toEqual([1, 1]);
      outcomes.add(ran === 1 ? 'ran' : 'gave back');
    }
    expect([...outcomes].sort()).toEqual(['gave back', 'ran']);
  });

  it('INVALID_ARGUMENT for what can never be right', () => {
    const { guard } = recordingGuard();
    for (const [work, options] of [
      ['work', { guard, sandboxId: 'w' }],
      [() => {}, { guard }],
      [() => {}, { guard, sandboxId: 'w', signal: new AbortController().signal }],
    ]) {
      expect(() => guardFunction(work as never, options as never)).toThrowError(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      );
    }
  });
});
