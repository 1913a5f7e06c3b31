import type { Driver } from './driver.js';
import { Flag, warnOnce } from './flag.js';
import type { Host } from './host.js';
import { Once, type SafeLog } from './log.js';
import type { CheckedOptions } from './options.js';
import { isProven, type Proof } from './read-only.js';
import type { Restored, Restores } from './restores.js';
import { has, quiet } from './settle.js';

/**
 * What a guard asks others at each batch: whether it is on, whether it is proven to only read, whether the store is paused, whether
 * the sandbox was restored.
 * Whatever they do instead of answering, each problem is a warning once, and there is an answer.
 */
export class Probes {
  #enabled: (() => boolean) | undefined;
  #proof: Proof | undefined;
  #driver: Driver | undefined;
  readonly #flag: Flag;
  readonly #log: SafeLog;
  readonly #warned = new Once();
  /** What is being asked just now. */
  readonly #asking = new Set<string>();
  readonly #restores: Restores;

  constructor(host: Host, { enabled, proof, driver }: CheckedOptions, log: SafeLog, restores: Restores) {
    this.#restores = restores;
    this.#enabled = enabled;
    this.#proof = proof;
    this.#driver = driver;
    this.#log = log;
    this.#flag = new Flag(host, (warning, value) => {
      if (!log.heard) warnOnce(warning, value);
      else if (this.#warned.first(`flag ${value}`))
        log.say('warn', { variable: 'SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH' }, warning);
    });
  }

  /** Another `enabled`, another proof and another driver, from now on. */
  use({ enabled, proof, driver }: CheckedOptions): void {
    this.#enabled = enabled;
    this.#proof = proof;
    this.#driver = driver;
  }

  /** Whether checkpoints are made (G3), read now. */
  enabled(): boolean {
    if (this.#enabled === undefined) return this.#flag.enabled();
    const answer = this.#ask('enabled', this.#enabled);
    return answer ?? this.#flag.enabled();
  }

  /** Whether everything that a batch is about to do is proven to only read (G14). A proof that breaks proves nothing. */
  readOnly(batch: unknown): boolean {
    const proof = this.#proof;
    if (proof === undefined) return false;
    return isProven(batch, (command) => this.#ask('isReadOnly', () => proof(command)) ?? false);
  }

  /** Whether the store is paused (C17), read now. If the driver cannot say, it is not: its attempt will say more. */
  paused(): boolean {
    const driver = this.#driver;
    if (!has(driver, 'isPaused')) return false;
    return this.#ask('driver.isPaused', () => driver.isPaused()) ?? false;
  }

  /** Whether the driver knows that a checkpoint of its own is gone, read now. */
  deleted(checkpointId: string): boolean {
    const driver = this.#driver;
    if (!has(driver, 'isDeleted')) return false;
    return this.#ask('driver.isDeleted', () => (driver as Driver).isDeleted?.(checkpointId)) ?? false;
  }

  /** Whether the sandbox was restored since the last look (G8). */
  restored(sandboxId: string, nowMs: number): Restored {
    const driver = this.#driver;
    // Who asks the guard something in place of an answer is about to give one.
    if (!has(driver, 'restores') || this.#asking.has('driver.restores')) return 'no';
    const now = this.#number('driver.restores', () => (driver as Driver).restores?.(sandboxId));
    // One that cannot say is no restore: an attempt under way would be made worthless.
    return this.#restores.look(sandboxId, now, nowMs);
  }

  #ask(what: string, question: () => unknown): boolean | undefined {
    const answer = this.#answer(what, question, 'boolean');
    return typeof answer === 'boolean' ? answer : undefined;
  }

  #number(what: string, question: () => unknown): number | undefined {
    const answer = this.#answer(what, question, 'number');
    return typeof answer === 'number' ? answer : undefined;
  }

  #answer(what: string, question: () => unknown, type: string): unknown {
    // Whoever asks the guard something in place of an answer would be asked the same again, without end.
    if (this.#asking.has(what)) return undefined;
    this.#asking.add(what);
    try {
      const answer = question();
      if (typeof answer === type) return answer;
      quiet(answer);
      this.#odd(what, new TypeError(`${what} gave a value of type ${typeof answer}: it has to be a ${type}`));
    } catch (error) {
      this.#odd(what, error);
    } finally {
      this.#asking.delete(what);
    }
    return undefined;
  }

  #odd(what: string, error: unknown): void {
    if (this.#warned.first(what)) this.#log.say('warn', { err: error }, `${what} failed; it does not count`);
  }
}
