// What can never be right is refused in TypeScript, before Rust, in a short sentence that does not repeat what was given.
import { type CheckpointManager, isTurnbackError, CheckpointManager as Manager } from 'turnback';
import { describe, expect, it } from 'vitest';
import { rejection, scene } from './support.js';

/** Calls a method as JavaScript can: with anything. */
function loosely(manager: CheckpointManager, method: string, ...args: unknown[]): Promise<unknown> {
  const call = (manager as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>)[method];
  if (call === undefined) throw new Error(`there is no method ${method}`);
  return call.apply(manager, args);
}

const MEGABYTE = '0'.repeat(1 << 20);
const BAD_IDS = [
  '',
  '0',
  MEGABYTE,
  '01ARYZ6S41TSV4RRFFQ69G5FAI',
  '81ARYZ6S41TSV4RRFFQ69G5FAV',
  '01aryz6s41tsv4rrffq69g5fav',
  '../../../../../etc/passwd1',
  7,
  null,
  undefined,
  {},
  ['x'],
];

async function expectInvalid(promise: Promise<unknown>, pattern: RegExp): Promise<void> {
  const error = await rejection(promise);
  expect(error).toMatchObject({ name: 'TurnbackError', code: 'INVALID_ARGUMENT', retryable: false });
  const { message } = error as Error;
  expect(message).toMatch(pattern);
  expect(message.length).toBeLessThan(400);
  expect(message).not.toContain('\n');
}

describe('arguments', () => {
  it('an id that is malformed, empty or a megabyte long', async () => {
    const { manager } = await scene();
    for (const id of BAD_IDS) {
      for (const method of [
        'getCheckpoint',
        'deleteCheckpoint',
        'rollbackTo',
        'undo',
        'diff',
        'readFile',
        'export',
        'pin',
        'label',
      ]) {
        await expectInvalid(loosely(manager, method, id, 'x'), /no checkpoint id|neither a re/);
      }
      if (id !== undefined) await expectInvalid(loosely(manager, 'verify', id), /no checkpoint id/);
      await expectInvalid(manager.coverage(id as string).next(), /no checkpoint id/);
    }
  });

  it('options: unknown names, wrong types, and numbers that are none', async () => {
    const { manager, workspace } = await scene();
    const create = (options: unknown) => loosely(manager, 'createCheckpoint', workspace, 'p', 'manual', {}, options);
    await expectInvalid(create({ deadlinems: 5 }), /no "deadlinems": it takes deadlineMs, label, exclude/);
    await expectInvalid(create({ [MEGABYTE]: 5 }), /it takes deadlineMs/);
    await expectInvalid(create({ maxBytes: 5 }), /no "maxBytes"/);
    await expectInvalid(create([]), /options is an array/);
    await expectInvalid(create('x'), /options is a value of type string/);
    await expectInvalid(create(null), /options is null/);
    for (const name of ['deadlineMs', 'maxFileBytes', 'maxFiles']) {
      for (const value of [Number.NaN, -1, 1.5, Number.POSITIVE_INFINITY, 2 ** 53, '5', 5n, null]) {
        await expectInvalid(create({ [name]: value }), new RegExp(`options.${name} is not a whole number`));
      }
    }
    await expectInvalid(create({ excludeIgnored: 1 }), /excludeIgnored .*pass true or false/);
    await expectInvalid(create({ exclude: 'x' }), /exclude .*pass an array/);
    await expectInvalid(create({ exclude: ['x', 5] }), /exclude\[1\] .*pass a string/);
    await expectInvalid(create({ exclude: ['a\0b'] }), /exclude\[0\] is no pattern/);
    await expectInvalid(create({ signal: 5 }), /signal .*pass an AbortSignal/);
    await expectInvalid(create({ signal: { aborted: false, addEventListener() {} } }), /signal .*pass an AbortSignal/);
    await expectInvalid(create({ onProgress: 5 }), /onProgress .*pass a function/);
    await expectInvalid(create({ label: '' }), /label has 0 bytes: it takes 1 to 200/);
    await expectInvalid(create({ label: 'é'.repeat(101) }), /label has 202 bytes/);
    await expectInvalid(create({ label: 'a\u001bb' }), /label holds control characters/);
    const rollback = (options: unknown) => loosely(manager, 'rollbackTo', '0'.repeat(26), options);
    await expectInvalid(rollback({ git: 'maybe' }), /git is none of keep, exact/);
    await expectInvalid(rollback({ dryrun: true }), /no "dryrun": it takes dryRun/);
    await expectInvalid(rollback({ paths: ['../x'] }), /relative to the workspace/);
    await expectInvalid(rollback({ paths: ['/x'] }), /relative to the workspace/);
    await expectInvalid(rollback({ paths: [5] }), /paths\[0\] is no path/);
    expect(await manager.listCheckpoints()).toEqual([]);
  });

  it('createCheckpoint: target, plan, phase and metadata', async () => {
    const { manager, workspace } = await scene();
    const create = (...args: unknown[]) => loosely(manager, 'createCheckpoint', ...args);
    for (const target of ['', 5, null, undefined, 'a\0b', 'x\ud800', {}])
      await expectInvalid(create(target, 'p', 'manual'), /^target /);
    for (const plan of ['', 5, undefined, 'x'.repeat(201), 'a\nb', '\ud800']) {
      await expectInvalid(create(workspace, plan, 'manual'), /^planId /);
    }
    for (const phase of ['', 'MANUAL', 5, undefined, MEGABYTE]) {
      await expectInvalid(create(workspace, 'p', phase), /^phase is none of pre_execute, post_execute/);
    }
    const meta = (metadata: unknown) => create(workspace, 'p', 'manual', metadata);
    await expectInvalid(meta('x'), /metadata .*pass an object/);
    await expectInvalid(meta({ a: 1 }), /metadata\["a"\] .*pass a string/);
    await expectInvalid(meta({ '': 'x' }), /a key of metadata has 0 bytes/);
    await expectInvalid(meta({ ['k'.repeat(129)]: 'x' }), /a key of metadata has 129 bytes/);
    await expectInvalid(meta({ k: 'v'.repeat(4097) }), /has 4097 bytes: it takes at most 4096/);
    await expectInvalid(
      meta(Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`k${at}`, 'v']))),
      /has 65 keys/,
    );
    expect(await manager.listCheckpoints()).toEqual([]);

    const most = Object.fromEntries(
      Array.from({ length: 64 }, (_, at) => [`${at}`.padStart(128, 'k'), 'v'.repeat(at === 0 ? 4096 : 1)]),
    );
    const { metadata } = await manager.createCheckpoint(workspace, 'p', 'manual', most, { label: 'x'.repeat(200) });
    expect(metadata).toEqual(most);
  });

  it('open: unknown names and wrong types', async () => {
    const open = (options: unknown) => (Manager.open as (options: unknown) => Promise<unknown>)(options);
    await expectInvalid(
      open({ stroe: 'x' }),
      /no "stroe": it takes store, durability, strict, maxBytes, onFull, logger/,
    );
    await expectInvalid(open({ store: '' }), /store is empty/);
    await expectInvalid(open({ store: 5 }), /store is no path/);
    await expectInvalid(open({ durability: 'none' }), /durability is none of power, process/);
    await expectInvalid(open({ strict: 'yes' }), /strict .*pass true or false/);
    await expectInvalid(open({ logger: console.log }), /logger is no logger/);
    for (const maxBytes of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '2G', 5n, null, (1 << 18) - 1]) {
      await expectInvalid(open({ maxBytes }), /options.maxBytes is not a whole number from 262144/);
    }
    for (const onFull of ['', 'PRUNE', 5, null]) await expectInvalid(open({ onFull }), /onFull is none of prune, fail/);
  });

  it('revert: ids, options, and what they may be', async () => {
    const { manager } = await scene();
    const id = '0'.repeat(26);
    for (const bad of BAD_IDS) {
      await expectInvalid(loosely(manager, 'revert', bad, id), /^from is no checkpoint id/);
      await expectInvalid(loosely(manager, 'revert', id, bad), /^to is no checkpoint id/);
    }
    const revert = (options: unknown) => loosely(manager, 'revert', id, id, options);
    for (const onConflict of ['', 'OURS', 'mine', 5, null, MEGABYTE]) {
      await expectInvalid(revert({ onConflict }), /^options.onConflict is none of fail, ours, theirs$/);
    }
    await expectInvalid(revert({ onconflict: 'ours' }), /no "onconflict": it takes onConflict/);
    await expectInvalid(revert({ dryRun: 1 }), /options.dryRun .*pass true or false/);
    await expectInvalid(revert({ safety: 'no' }), /options.safety .*pass true or false/);
    await expectInvalid(revert({ git: 'maybe' }), /options.git is none of keep, exact/);
    await expectInvalid(revert({ allowReplacedRoot: null }), /options.allowReplacedRoot/);
    await expectInvalid(revert({ paths: [] }), /options.paths is empty/);
    await expectInvalid(revert({ paths: [''] }), /options.paths\[0\] is empty/);
    await expectInvalid(revert({ paths: ['../x'] }), /relative to the workspace/);
    await expectInvalid(revert({ signal: 'x' }), /options.signal .*AbortSignal/);
    for (const deadlineMs of [0, -1, Number.NaN, 2 ** 53, 2 ** 31, '5']) {
      await expectInvalid(revert({ deadlineMs }), /options.deadlineMs is not a whole number from 1/);
      await expectInvalid(loosely(manager, 'undo', id, { deadlineMs }), /options.deadlineMs is not a whole number/);
    }
  });

  it('prune, pin and label', async () => {
    const { manager } = await scene();
    const prune = (...args: unknown[]) => loosely(manager, 'prune', ...args);
    for (const name of ['keepLast', 'keepWithinMs', 'maxBytes']) {
      for (const value of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '7d', 5n, null]) {
        await expectInvalid(prune({ [name]: value }), new RegExp(`^rules.${name} is not a whole number from 0`));
      }
    }
    await expectInvalid(prune({ keepWithin: 5 }), /no "keepWithin": it takes keepLast, keepWithinMs/);
    await expectInvalid(prune({ dryRun: 'yes' }), /rules.dryRun .*pass true or false/);
    for (const rules of [null, [], 'x', 5]) await expectInvalid(prune(rules), /^rules is /);
    await expectInvalid(prune({}, { deadlineMs: 0 }), /options.deadlineMs/);
    await expectInvalid(prune({ signal: 5 }), /no "signal"/);
    for (const pinned of [undefined, null, 1, 'true']) {
      await expectInvalid(loosely(manager, 'pin', '0'.repeat(26), pinned), /^pinned .*pass true or false/);
    }
    for (const label of [undefined, '', 5, 'x'.repeat(201), 'a\nb', '\ud800']) {
      await expectInvalid(loosely(manager, 'label', '0'.repeat(26), label), /^label /);
    }
  });

  it('every refusal is known by its marker', async () => {
    const { manager } = await scene();
    expect(isTurnbackError(await rejection(manager.getCheckpoint('x')))).toBe(true);
  });
});
