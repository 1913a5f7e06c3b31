/**
 * The sandboxes of one test file, whatever runs it (X1): each test has one to itself, and all begin as the fixture directory was when the
 * first one began.
 *
 * A sandbox is made once and rolled back between tests, exactly, which takes as long as what the test changed; a copy of the whole tree
 * for each test would take as long as the tree is large. Tests that run at the same time have one each, so there are as many as ever ran at
 * once. Whatever is not known to be as it was is never given to another test: nor what was committed, because a commit makes a new baseline,
 * to which a rollback leads from then on.
 *
 * How a test ended is known to no runner when the fixture is told that it is over: hooks that come later can fail it, and so can a subtest.
 * So the fixture hands in how to find out, and that is asked again when a sandbox is next needed, and at the end of the file. Until then
 * the tree is left alone.
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
import { CHANNEL, type OperationMessage } from '../observe.js';
import { keepTree } from './keep.js';
import type { Checked } from './options.js';

/** What a runner's records say of a test. */
export type Outcome =
  /** Not yet: a hook or a subtest can still fail it. */
  | 'open'
  /** Counted as passed, and its code came to its end. */
  | 'passed'
  /** Counted as failed. */
  | 'failed'
  /** Counted as passed because it did not, as `test.fails` asks for: its code may still be running. */
  | 'failedAsMeant';

/** A test that has a sandbox, and where its runner prints. */
export interface SandboxTest {
  /** What the runner calls the test. */
  readonly name: string;
  /** How it ended, as far as that is known now; asked more than once. */
  readonly outcome: () => Outcome;
  /** Prints a line in the runner's output. */
  readonly say: (line: string) => void;
}

/** A sandbox, and the test that has it or had it. */
interface Lent {
  readonly sandbox: CopyOnWriteSandbox;
  readonly test: SandboxTest;
}

/** The store of a file's sandboxes: a temporary one, which goes with its process even if that is killed (C11, S9). */
interface Opened {
  readonly manager: CheckpointManager;
  /** The fixture directory as it was before the first test. */
  readonly baseline: SandboxCheckpoint;
  /** Ends the listening for commits. */
  readonly stop: () => void;
}

/** Hears of each commit in this process, as it is asked for: no status tells of one when the test has rolled it back since. */
function onCommit(heard: (sandboxId: string) => void): () => void {
  const listener = (message: unknown) => {
    const { operation, sandboxId } = message as OperationMessage;
    if (operation === 'sandbox.commit' && sandboxId !== undefined) heard(sandboxId);
  };
  const started = `tracing:${CHANNEL}:start`;
  node.diagnosticsChannel.subscribe(started, listener);
  return () => void node.diagnosticsChannel.unsubscribe(started, listener);
}

/** Whether a sandbox's root is alone in its directory: a test may have written to `../`, which no rollback sees. */
const isAlone = (sandbox: CopyOnWriteSandbox) => node.fs.readdirSync(dirname(sandbox.path)).length === 1;

/** One for each test file, or for each worker where the runner has no files. */
export class SandboxPool {
  readonly #options: Checked;
  #opened: Promise<Opened> | undefined;
  #made = 0;
  /** Those of tests that may still turn out to have failed. */
  readonly #returned = new Set<Lent>();
  /** Those of tests that passed, as these left them. */
  readonly #passed: Lent[] = [];
  /** Those that tests have. */
  readonly #lent = new Map<CopyOnWriteSandbox, SandboxTest>();
  /** The ids of those that somebody committed, or tried to. */
  readonly #committed = new Set<string>();

  constructor(options: Checked) {
    this.#options = options;
  }

  /**
   * A sandbox for one test.
   *
   * @throws TurnbackError `NOT_FOUND` or `NOT_A_DIRECTORY` without a fixture directory, `CONFLICT` when it changed while tests ran, and what
   *   `createSandbox` throws
   */
  async take(test: SandboxTest): Promise<CopyOnWriteSandbox> {
    await this.#judge();
    // Each test, not only one that gets a new sandbox: what the one before did to the fixture directory must not go unnoticed.
    if (this.#passed.length > 0) await this.#refuseChanges();
    const sandbox = (await this.#rolledBack()) ?? (await this.#make());
    this.#lent.set(sandbox, test);
    return sandbox;
  }

  /** Takes it back: for another test when it is certain that this one passed. */
  async giveBack(sandbox: CopyOnWriteSandbox): Promise<void> {
    const test = this.#lent.get(sandbox);
    // The file has ended without this test.
    if (test === undefined) return;
    this.#lent.delete(sandbox);
    // Not later where it is certain: code that still runs may write on, and the line stands beside the test.
    if (test.outcome() === 'failed') await this.#keep({ sandbox, test });
    else this.#returned.add({ sandbox, test });
  }

  /** A pool for as long as `use` has something to do with it; closed then, whatever happened. */
  static async lend(
    options: Checked,
    use: (pool: SandboxPool) => Promise<void>,
    say: SandboxTest['say'],
  ): Promise<void> {
    const pool = new SandboxPool(options);
    try {
      await use(pool);
    } finally {
      await pool.close(say);
    }
  }

  /** Removes the store and all sandboxes. Of tests that are still open now it will never be known that they passed. */
  async close(say: SandboxTest['say']): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined);
    if (opened === undefined) return;
    for (const [sandbox, test] of this.#lent) this.#returned.add({ sandbox, test: { ...test, say } });
    this.#lent.clear();
    await this.#judge();
    for (const open of this.#returned) await this.#keep(open);
    this.#returned.clear();
    this.#passed.length = 0;
    this.#opened = undefined;
    opened.stop();
    await opened.manager.close();
  }

  /** Asks again how tests ended. All are asked before anything is waited for: a runner may begin to count a test anew with its next attempt. */
  async #judge(): Promise<void> {
    const failed: Lent[] = [];
    for (const returned of this.#returned) {
      const outcome = returned.test.outcome();
      if (outcome === 'open') continue;
      this.#returned.delete(returned);
      if (outcome === 'passed') this.#passed.push(returned);
      if (outcome === 'failed') failed.push(returned);
    }
    for (const returned of failed) await this.#keep(returned);
  }

  /** One that has been used before, as it was then. */
  async #rolledBack(): Promise<CopyOnWriteSandbox | undefined> {
    for (let next = this.#passed.pop(); next !== undefined; next = this.#passed.pop()) {
      if (await this.#restored(next)) return next.sandbox;
    }
    return undefined;
  }

  async #make(): Promise<CopyOnWriteSandbox> {
    this.#opened ??= this.#open();
    const { manager } = await this.#opened;
    const { mechanism, maxFiles } = this.#options;
    const resource = this.#options.resource;
    const isFirst = this.#made === 0;
    this.#made += 1;
    const sandbox = await createSandbox({ resource, mechanism, maxFiles, checkpoints: manager });
    // The first is made right after the baseline; others must not begin with what a test wrote to the fixture directory by mistake.
    if (!isFirst) await this.#refuseChanges();
    return sandbox;
  }

  async #open(): Promise<Opened> {
    const manager = await CheckpointManager.open({ store: 'ephemeral' });
    try {
      const { resource, maxFiles } = this.#options;
      const baseline = await manager.createCheckpoint(resource, 'turnback-testing', 'manual', {}, { maxFiles });
      return { manager, baseline, stop: onCommit((id) => this.#committed.add(id)) };
    } catch (error) {
      await manager.close();
      throw this.#named(error);
    }
  }

  /** Looks at the fixture directory: at its paths, not into its files. */
  async #refuseChanges(): Promise<void> {
    if (this.#opened === undefined) return;
    const { manager, baseline } = await this.#opened;
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

  async #restored({ sandbox, test }: Lent): Promise<boolean> {
    if (this.#committed.has(sandbox.id)) return false;
    try {
      const { restored, kept, notRestorable } = await sandbox.rollback();
      return restored && kept.length === 0 && notRestorable.length === 0 && isAlone(sandbox);
    } catch (error) {
      test.say(
        `turnback: the sandbox of the test "${test.name}" cannot be rolled back, the next test gets a new one: ${error}`,
      );
      return false;
    }
  }

  async #keep({ sandbox, test: { name, say } }: Lent): Promise<void> {
    const { keepIn } = this.#options;
    if (keepIn === undefined || this.#opened === undefined) return;
    try {
      const { manager } = await this.#opened;
      say(`turnback: what the failed test "${name}" left is kept in ${await keepTree(manager, sandbox, keepIn, name)}`);
    } catch (error) {
      say(`turnback: what the failed test "${name}" left cannot be kept: ${error}`);
    }
  }
}
