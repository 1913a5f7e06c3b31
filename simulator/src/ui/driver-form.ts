import type { DriverModel, Latency } from 'turnback-policy/simulate';
import { duration, plural } from '../model/format.js';
import type { Setup } from '../model/link.js';
import { el } from './dom.js';
import { amount, choice, type Field, tick } from './fields.js';
import { LARGEST } from './ranges.js';

type Kind = Latency['kind'];
type Part = 'ms' | 'minMs' | 'p50Ms' | 'p90Ms' | 'p99Ms' | 'maxMs';

const DEFAULT: Latency = { kind: 'fixed', ms: 50 };
/** Which numbers each kind of latency has, and what they are called. */
const PARTS: Readonly<Record<Kind, readonly (readonly [Part, string])[]>> = {
  fixed: [['ms', 'Takes']],
  uniform: [
    ['minMs', 'At least'],
    ['maxMs', 'At most'],
  ],
  quantiles: [
    ['minMs', 'At least'],
    ['p50Ms', 'Half within'],
    ['p90Ms', '90 % within'],
    ['p99Ms', '99 % within'],
    ['maxMs', 'At most'],
  ],
  samples: [],
};

/** How the driver behaves, in a line; opened, the controls for it. */
export class DriverForm {
  readonly element: HTMLElement;
  #setup: Setup = { seed: 0, driver: {}, policies: [] };
  readonly #line = el('span', { class: 'driver-line' });
  readonly #kind: Field<Kind>;
  readonly #numbers = new Map<Part, Field<number | undefined>>();
  readonly #rest;

  constructor(changed: (part: Pick<Setup, 'seed' | 'driver'>) => void) {
    const edit = (driver: DriverModel, seed = this.#setup.seed) => {
      this.#setup = { ...this.#setup, seed, driver };
      this.#draw();
      changed({ seed, driver });
    };
    const latency = () => this.#setup.driver.latency ?? DEFAULT;
    this.#kind = choice<Kind>({
      label: 'A checkpoint takes',
      options: [
        ['fixed', 'always the same'],
        ['uniform', 'from … to …'],
        ['quantiles', 'mostly little, sometimes much'],
        ['samples', 'one of the times in the file'],
      ],
      changed: (kind) => edit({ ...this.#setup.driver, latency: converted(latency(), kind) }),
    });
    for (const part of ['ms', 'minMs', 'p50Ms', 'p90Ms', 'p99Ms', 'maxMs'] as const) {
      const label = Object.values(PARTS)
        .flat()
        .find(([name]) => name === part)?.[1];
      const field = amount({
        label: label ?? part,
        min: 0,
        max: LARGEST.ms,
        step: 1,
        unit: 'ms',
        changed: (value) =>
          edit({ ...this.#setup.driver, latency: ordered({ ...latency(), [part]: value ?? 0 }, part) }),
      });
      this.#numbers.set(part, field);
    }
    const rate = (label: string, key: 'failureRate' | 'stallRate', other: 'failureRate' | 'stallRate') =>
      amount({
        label,
        min: 0,
        max: 100,
        step: 0.1,
        unit: '%',
        changed: (percent) => {
          const value = Math.round((percent ?? 0) * 100) / 10_000;
          const rest = Math.min(this.#setup.driver[other] ?? 0, 1 - value);
          edit({ ...this.#setup.driver, [key]: value, [other]: rest });
        },
      });
    this.#rest = {
      failure: rate('Fails', 'failureRate', 'stallRate'),
      stall: rate('Never answers', 'stallRate', 'failureRate'),
      seed: amount({
        label: 'Luck (seed)',
        min: 0,
        max: LARGEST.seed,
        step: 1,
        changed: (seed) => edit(this.#setup.driver, seed ?? 0),
      }),
      recorded: tick({
        label: 'What was recorded goes as it was recorded',
        changed: (recorded) => edit({ ...this.#setup.driver, recorded }),
      }),
    };
    const grid = [this.#kind, ...this.#numbers.values(), ...Object.values(this.#rest)].map((field) => field.element);
    this.element = el(
      'details',
      { class: 'driver' },
      el('summary', {}, el('strong', {}, 'Driver'), this.#line, el('span', { class: 'summary-act' }, 'Edit')),
      el('div', { class: 'form' }, el('div', { class: 'form-grid' }, ...grid)),
    );
  }

  /** Shows a set-up. `recorded`: some batch says what a real driver did. */
  show(setup: Setup, recorded: boolean): void {
    this.#setup = setup;
    this.#rest.recorded.setHidden(!recorded);
    this.#draw();
  }

  #draw(): void {
    const { driver, seed } = this.#setup;
    const latency = driver.latency ?? DEFAULT;
    this.#line.textContent = driverText(driver);
    this.#kind.show(latency.kind);
    const shown = new Map(PARTS[latency.kind]);
    for (const [part, field] of this.#numbers) {
      field.setHidden(!shown.has(part));
      if (shown.has(part)) field.show((latency as Partial<Record<Part, number>>)[part] ?? 0);
    }
    this.#rest.failure.show(percentage(driver.failureRate));
    this.#rest.stall.show(percentage(driver.stallRate));
    this.#rest.seed.show(seed);
    this.#rest.recorded.show(driver.recorded ?? true);
  }
}

/** A share in percent, as short as somebody would write it: 0.07 is 7, and not 7.000000000000001. */
const percentage = (share = 0): number => Number((share * 100).toPrecision(12));

/** A driver in a line. */
export function driverText(driver: DriverModel): string {
  const latency = driver.latency ?? DEFAULT;
  const parts = [latencyText(latency)];
  if (driver.failureRate) parts.push(`fails ${percent(driver.failureRate)}`);
  if (driver.stallRate) parts.push(`never answers ${percent(driver.stallRate)}`);
  return parts.join(', ');
}

const percent = (rate: number) => `${Math.round(rate * 10_000) / 100} %`;

function latencyText(latency: Latency): string {
  switch (latency.kind) {
    case 'fixed':
      return `takes ${duration(latency.ms)}`;
    case 'uniform':
      return `takes ${duration(latency.minMs)} to ${duration(latency.maxMs)}`;
    case 'quantiles':
      return `takes ${duration(latency.p50Ms)} mostly, ${duration(latency.p99Ms)} at the 99th percentile`;
    case 'samples':
      return `takes one of ${plural(latency.ms.length, 'recorded time')}`;
  }
}

/** The same latency, as nearly as it goes, in another form. */
function converted(latency: Latency, kind: Kind): Latency {
  const [low, middle, high] = ends(latency);
  if (kind === 'fixed') return { kind, ms: middle };
  if (kind === 'uniform') return { kind, minMs: low, maxMs: high };
  if (kind === 'samples') return latency.kind === 'samples' ? latency : { kind, ms: [low, middle, high] };
  const tail = (share: number) => Math.round(middle + (high - middle) * share);
  return { kind, minMs: low, p50Ms: middle, p90Ms: tail(0.4), p99Ms: tail(0.8), maxMs: high };
}

function ends(latency: Latency): [low: number, middle: number, high: number] {
  switch (latency.kind) {
    case 'fixed':
      return [latency.ms, latency.ms, latency.ms];
    case 'uniform':
      return [latency.minMs, Math.round((latency.minMs + latency.maxMs) / 2), latency.maxMs];
    case 'quantiles':
      return [latency.minMs ?? 0, latency.p50Ms, latency.maxMs];
    case 'samples': {
      const sorted = [...latency.ms].sort((a, b) => a - b);
      return [sorted[0] ?? 0, sorted[sorted.length >> 1] ?? 0, sorted.at(-1) ?? 0];
    }
  }
}

/** Moves the other numbers along, so that they stay in order: the one that the reader edits has its way. */
function ordered(latency: Latency, edited: Part): Latency {
  const parts = PARTS[latency.kind].map(([part]) => part);
  if (latency.kind === 'samples') return latency;
  const values: Partial<Record<Part, number>> = { ...latency };
  const mine = values[edited] ?? 0;
  const place = parts.indexOf(edited);
  for (const [at, part] of parts.entries()) {
    if (at < place) values[part] = Math.min(values[part] ?? 0, mine);
    if (at > place) values[part] = Math.max(values[part] ?? 0, mine);
  }
  return { ...latency, ...values } as Latency;
}
