// An object that throws at its k-th interaction: whatever is done to it or to what it gives is one (G5).

/** What is thrown. What cannot even be looked at is the worst of them. */
export const MISSILES: readonly [string, () => unknown][] = [
  ['an error', () => new Error('sabotage')],
  ['nothing', () => null],
  ['what cannot be looked at', () => revoked()],
];

/** A proxy whose every trap throws. */
export function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** Counts the interactions with what it wraps, and throws at one of them, or at all. */
export class Saboteur {
  #count = 0;
  #at: number | 'always' | undefined;
  readonly #missile: () => unknown;
  readonly #wrapped = new WeakMap<object, object>();

  constructor(missile: () => unknown) {
    this.#missile = missile;
  }

  /** From now on interactions count, and the k-th throws. */
  arm(at: number | 'always'): void {
    this.#count = 0;
    this.#at = at;
  }

  /** Interactions since it was armed. */
  get count(): number {
    return this.#count;
  }

  wrap<T extends object>(target: T): T {
    const known = this.#wrapped.get(target);
    if (known !== undefined) return known as T;
    const strike = () => this.#strike();
    const give = (value: unknown) => this.#give(value);
    const proxy = new Proxy(target, {
      get: (_, name) => {
        strike();
        const value = Reflect.get(target, name, target) as unknown;
        return typeof value === 'function' ? give(bound(value, target)) : give(value);
      },
      set: (_, name, value) => {
        strike();
        return Reflect.set(target, name, value, target);
      },
      has: (_, name) => {
        strike();
        return Reflect.has(target, name);
      },
      apply: (_, self, args) => {
        strike();
        return give(Reflect.apply(target as () => unknown, self, args));
      },
      getPrototypeOf: () => {
        strike();
        return Reflect.getPrototypeOf(target);
      },
      ownKeys: () => {
        strike();
        return Reflect.ownKeys(target);
      },
      getOwnPropertyDescriptor: (_, name) => {
        strike();
        return Reflect.getOwnPropertyDescriptor(target, name);
      },
    });
    this.#wrapped.set(target, proxy);
    return proxy;
  }

  #give(value: unknown): unknown {
    if (this.#at === undefined) return value;
    const object = (typeof value === 'object' && value !== null) || typeof value === 'function';
    return object ? this.wrap(value as object) : value;
  }

  #strike(): void {
    if (this.#at === undefined) return;
    this.#count += 1;
    if (this.#at === 'always' || this.#count === this.#at) throw this.#missile();
  }
}

function bound(method: unknown, target: object): object {
  return (...args: unknown[]) => Reflect.apply(method as () => unknown, target, args) as unknown;
}
