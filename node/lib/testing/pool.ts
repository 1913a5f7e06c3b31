/**
 * The sandboxes of one test file, whatever runs it (X1): each test has one to itself, and all begin as the fixture directory was when the
 * first one began.
 *
 * A sandbox is made once and rolled back after each test, exactly, which takes as long as what the test changed; a copy of the whole tree
 * for each test would take as long as the tree is large. Tests that run at the same time have one each, so there are as many as ever ran at
 * once. Whatever is not known to be as it was is never given to another test.
 */
import { dirname } from 'node:path';
import { node } from '../builtin.js';
import {
  CheckpointManager,
  type CopyOnWriteSandbox,
  createSandbox,
  isTurnbackError,
  type SandboxCheckpoint,
  TurnbackError,
} from '../index.js';
import { keepTree } from './keep.js';
import type { Checked } from './options.js';

/** How a test ended, and where its runner prints. */
export interface Ended {
  /** What the runner calls the test. */
  readonly test: string;
  /** The runner counts it as failed. */
  readonly failed: boolean;
  /** Its code is known to have come to its end: a test that ran out of time may go on writing. */
  readonly finished: boolean;
  /** Prints a line in the runner's output. */
  readonly say: (line: string) => void;
}

/** The store of a file's sandboxes: a temporary one, which goes with its process even if that is killed (C11, S9). */
interface Opened {
  readonly manager: CheckpointManager;
  /** The fixture directory as it was before the first test. */
  readonly baseline: SandboxCheckpoint;
}

/** Whether a sandbox's root is alone in its directory: a test may have written to `../`, which no rollback sees. */
const isAlone = (sandbox: CopyOnWriteSandbox) => node.fs.readdirSync(dirname(sandbox.path)).length === 1;

/** One for each test file, or for each worker where the runner has no files. */
export class SandboxPool {
  readonly #options: Checked;
  #opened: Promise<Opened> | undefined;
  #made = 0;
  readonly #idle: CopyOnWriteSandbox[] = [];
  /** Those that tests have, with the names of the tests. */
  readonly #lent = new Map<CopyOnWriteSandbox, string>();

  constructor(options: Checked) {
    this.#options = options;
  }

  /**
   * A sandbox for one test.
   *
   * @throws TurnbackError `NOT_FOUND` or `NOT_A_DIRECTORY` without a fixture directory, `CONFLICT` when it changed while tests ran, and what
   *   `createSandbox` throws
   */
  async take(test: string): Promise<CopyOnWriteSandbox> {
    const sandbox = this.#idle.pop() ?? (await this.#make());
    this.#lent.set(sandbox, test);
    return sandbox;
  }

  /** Takes it back: as it was for the next test, or never to be used again. */
  async giveBack(sandbox: CopyOnWriteSandbox, ended: Ended): Promise<void> {
    this.#lent.delete(sandbox);
    if (ended.failed) await this.#keep(sandbox, ended.test, ended.say);
    // What failed may still be running, and may have left anything.
    if (ended.finished && (await this.#restored(sandbox, ended))) this.#idle.push(sandbox);
  }

  /** A pool for as long as `use` has something to do with it; closed then, whatever happened. */
  static async lend(options: Checked, use: (pool: SandboxPool) => Promise<void>, say: Ended['say']): Promise<void> {
    const pool = new SandboxPool(options);
    try {
      await use(pool);
    } finally {
      await pool.close(say);
    }
  }

  /** Removes the store and all sandboxes. What tests still have are those of tests that never ended. */
  async close(say: Ended['say']): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined);
    if (opened === undefined) return;
    for (const [sandbox, test] of this.#lent) await this.#keep(sandbox, test, say);
    this.#lent.clear();
    this.#idle.length = 0;
    this.#opened = undefined;
    await opened.manager.close();
  }

  async #make(): Promise<CopyOnWriteSandbox> {
    this.#opened ??= this.#open();
    const { manager, baseline } = await this.#opened;
    const { mechanism, maxFiles } = this.#options;
    const resource = this.#options.resource;
    const isFirst = this.#made === 0;
    this.#made += 1;
    const sandbox = await createSandbox({ resource, mechanism, maxFiles, checkpoints: manager });
    // The first is made right after the baseline; others must not begin with what a test wrote to the fixture directory by mistake.
    if (!isFirst) await this.#refuseChanges(manager, baseline);
    return sandbox;
  }

  async #open(): Promise<Opened> {
    const manager = await CheckpointManager.open({ store: 'ephemeral' });
    try {
      const { resource, maxFiles } = this.#options;
      const baseline = await manager.createCheckpoint(resource, 'turnback-testing', 'manual', {}, { maxFiles });
      return { manager, baseline };
    } catch (error) {
      await manager.close();
      throw this.#named(error);
    }
  }

  async #refuseChanges(manager: CheckpointManager, baseline: SandboxCheckpoint): Promise<void> {
    const changed = await manager.diff(baseline.checkpointId);
    if (changed.length === 0) return;
    const paths = changed.slice(0, 3).map(({ path }) => path);
    throw new TurnbackError(
      'CONFLICT',
      `the fixture directory ${this.#resource} was changed while its tests ran (${paths.join(', ')}${changed.length > 3 ? ', …' : ''}): let tests write to their sandbox only`,
      { details: { paths } },
    );
  }

  get #resource(): string {
    return Buffer.from(this.#options.resource).toString();
  }

  /** An engine's error about the fixture directory, that says what the directory is to the reader. */
  #named(error: unknown): unknown {
    if (!isTurnbackError(error) || !['NOT_FOUND', 'NOT_A_DIRECTORY'].includes(error.code)) return error;
    const what = error.code === 'NOT_FOUND' ? 'does not exist' : 'is no directory';
    return new TurnbackError(
      error.code,
      `the fixture directory ${this.#resource} ${what}: make it, or pass another \`resource\` (a relative one starts where the runner was started, in ${process.cwd()})`,
      { cause: error, details: error.details },
    );
  }

  async #restored(sandbox: CopyOnWriteSandbox, { test, say }: Ended): Promise<boolean> {
    try {
      const { restored, kept, notRestorable } = await sandbox.rollback();
      return restored && kept.length === 0 && notRestorable.length === 0 && isAlone(sandbox);
    } catch (error) {
      say(`turnback: the sandbox of the test "${test}" cannot be rolled back, the next test gets a new one: ${error}`);
      return false;
    }
  }

  async #keep(sandbox: CopyOnWriteSandbox, test: string, say: Ended['say']): Promise<void> {
    const { keepIn } = this.#options;
    if (keepIn === undefined || this.#opened === undefined) return;
    try {
      const { manager } = await this.#opened;
      say(`turnback: what the failed test "${test}" left is kept in ${await keepTree(manager, sandbox, keepIn, test)}`);
    } catch (error) {
      say(`turnback: what the failed test "${test}" left cannot be kept: ${error}`);
    }
  }
}
