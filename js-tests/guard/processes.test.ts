// P9, item 8: several processes on one store. Nobody waits for another workspace, nothing is lost, a killed one wedges nobody.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { CheckpointManager, localDriver } from 'turnback';
import { expect, it, onTestFinished } from 'vitest';
import { temporary, write } from '../node/support.js';
import { noUnhandledRejections, PACKAGES } from './support.js';

noUnhandledRejections();

const AGENT = new URL('./agent.mjs', import.meta.url).pathname;

interface Agent {
  process: ChildProcess;
  /** What it printed, line by line. */
  lines: string[];
  /** Resolves when it has printed so many lines, or has ended. */
  printed(count: number): Promise<void>;
  ended: Promise<unknown>;
}

/** An agent with a guard of its own: so many turns of eight parallel batches each; it prints each turn's verdicts. */
function agent(store: string, workspace: string, turns: number, name: string): Agent {
  const process_ = spawn(process.execPath, [AGENT, store, workspace, String(turns), name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void process_.kill('SIGKILL'));
  const lines: string[] = [];
  let waiting: (() => void)[] = [];
  let rest = '';
  process_.stdout.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
    for (const wake of waiting.splice(0)) wake();
  });
  const ended = once(process_, 'close').then(([code, signal]) => {
    for (const wake of waiting.splice(0)) wake();
    waiting = [];
    return code ?? signal;
  });
  return {
    process: process_,
    lines,
    ended,
    async printed(count) {
      while (lines.length < count && process_.exitCode === null && process_.signalCode === null) {
        await new Promise<void>((resolve) => void waiting.push(resolve));
      }
    },
  };
}

const ONE_TURN = JSON.stringify(['created', ...Array(7).fill('joined')]);

it('twenty processes with a workspace each: each turn of each gets exactly one checkpoint', async () => {
  const home = temporary();
  const store = join(home, 'store');
  const agents = Array.from({ length: 20 }, (_, at) => {
    return agent(store, write(join(home, `w${at}`), { 'a.txt': `${at}` }), 3, `agent${at}`);
  });
  for (const { ended, lines } of agents) {
    expect(await ended).toBe(0);
    expect(lines).toEqual(Array(3).fill(ONE_TURN));
  }
  await using manager = await CheckpointManager.open({ store });
  expect(await manager.listCheckpoints()).toHaveLength(60);
  expect(await manager.verify()).toMatchObject({ ok: true });
});

it('two processes on one workspace: each has its turns, and each turn its checkpoint', async () => {
  const home = temporary();
  const store = join(home, 'store');
  const workspace = write(join(home, 'w'), { 'a.txt': 'a' });
  const agents = [agent(store, workspace, 10, 'one'), agent(store, workspace, 10, 'two')];
  for (const { ended, lines } of agents) {
    expect(await ended).toBe(0);
    expect(lines).toEqual(Array(10).fill(ONE_TURN));
  }
  await using manager = await CheckpointManager.open({ store });
  const comments = (await manager.listCheckpoints()).map(({ metadata }) => metadata.comment);
  expect(new Set(comments).size).toBe(20);
});

it('one that is killed in the middle wedges nobody: not its workspace, not the store', async () => {
  const home = temporary();
  const store = join(home, 'store');
  const files = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`f${at}`, `${at}`]));
  const [shared, own] = [write(join(home, 'shared'), files), write(join(home, 'own'), files)];
  const victim = agent(store, shared, 1_000_000, 'victim');
  const other = agent(store, own, 20, 'other');
  await victim.printed(2);
  expect(victim.lines.length).toBeGreaterThanOrEqual(2);
  victim.process.kill('SIGKILL');
  const heir = agent(store, shared, 5, 'heir');
  expect(await victim.ended).toBe('SIGKILL');
  expect([await other.ended, await heir.ended]).toEqual([0, 0]);
  expect(other.lines).toEqual(Array(20).fill(ONE_TURN));
  expect(heir.lines).toEqual(Array(5).fill(ONE_TURN));
  await using manager = await CheckpointManager.open({ store });
  const comments = (await manager.listCheckpoints()).map(({ metadata }) => metadata.comment ?? '');
  expect(comments.filter((comment) => comment.includes('heir'))).toHaveLength(5);
  expect(comments.filter((comment) => comment.includes('other'))).toHaveLength(20);
  // What the victim was told is there: nothing that was promised is lost.
  expect(comments.filter((comment) => comment.includes('victim')).length).toBeGreaterThanOrEqual(victim.lines.length);
  expect(await manager.verify()).toMatchObject({ ok: true });
});

it('F46: what one process pauses, another one’s next batch skips', async () => {
  const home = temporary();
  const store = join(home, 'store');
  const workspace = write(join(home, 'w'), { 'a.txt': 'a' });
  await using manager = await CheckpointManager.open({ store });
  await manager.pause();
  const paused = agent(store, workspace, 1, 'paused');
  expect(await paused.ended).toBe(0);
  expect(paused.lines).toEqual([JSON.stringify(Array(8).fill('skipped'))]);
  const [[, turnback]] = PACKAGES;
  const guard = turnback.createGuard({
    driver: localDriver(manager, workspace),
    enabled: () => true,
    timeoutMs: 60_000,
  });
  expect(await guard.beforeBatch({ sandboxId: 'w', turnId: 't' })).toMatchObject({ reason: 'paused' });
  await manager.resume();
  expect(await guard.beforeBatch({ sandboxId: 'w', turnId: 'u' })).toMatchObject({ outcome: 'created' });
});
