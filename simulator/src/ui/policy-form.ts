import type { Policy, PolicyKind } from 'turnback-policy/simulate';
import { KINDS } from '../model/policy-words.js';
import { el } from './dom.js';
import { amount, choice, line } from './fields.js';
import { LARGEST } from './ranges.js';

const HOUR = 3_600_000;

/** The controls of one policy. What is left empty is the default. */
export class PolicyForm {
  readonly element: HTMLElement;
  #policy: Policy = { kind: 'per_turn' };
  readonly #says = el('p', { class: 'form-note' });
  readonly #fields;

  constructor(changed: (policy: Policy) => void) {
    const edit = (part: Partial<Record<keyof Policy, unknown>>) => {
      // What is undefined is left out: the default counts then.
      const entries = Object.entries({ ...this.#policy, ...part }).filter(([, value]) => value !== undefined);
      this.#policy = Object.fromEntries(entries) as unknown as Policy;
      this.show(this.#policy);
      changed(this.#policy);
    };
    const time = { min: 0, max: LARGEST.ms, step: 1, unit: 'ms' };
    this.#fields = {
      kind: choice<PolicyKind>({
        label: 'When',
        options: (Object.keys(KINDS) as PolicyKind[]).map((kind) => [
          kind,
          KINDS[kind].mistake ? `${KINDS[kind].name} (a mistake)` : KINDS[kind].name,
        ]),
        changed: (kind) =>
          edit({ kind, intervalMs: kind === 'interval' ? (this.#policy.intervalMs ?? 30_000) : undefined }),
      }),
      interval: amount({ label: 'Throttle', ...time, changed: (intervalMs) => edit({ intervalMs }) }),
      when: choice<'always' | 'unless_read_only'>({
        label: 'Batches that only read',
        options: [
          ['always', 'need a checkpoint too'],
          ['unless_read_only', 'need none'],
        ],
        changed: (when) => edit({ when: when === 'always' ? undefined : when }),
      }),
      timeout: amount({
        label: 'Waits at most',
        ...time,
        min: 1,
        max: LARGEST.timeoutMs,
        optional: '10000',
        changed: (timeoutMs) => edit({ timeoutMs }),
      }),
      failure: choice<'proceed' | 'block'>({
        label: 'Without a checkpoint',
        options: [
          ['proceed', 'the batch runs'],
          ['block', 'the batch is refused'],
        ],
        changed: (onFailure) => edit({ onFailure: onFailure === 'proceed' ? undefined : onFailure }),
      }),
      last: amount({
        label: 'Keeps the last',
        min: 0,
        max: LARGEST.keepLast,
        step: 1,
        optional: '50',
        changed: (keepLast) => edit({ retention: retention({ ...this.#policy.retention, keepLast }) }),
      }),
      within: amount({
        label: 'Keeps for',
        min: 0,
        max: LARGEST.ms / HOUR,
        step: 0.1,
        unit: 'h',
        optional: '168',
        changed: (hours) =>
          edit({
            retention: retention({
              ...this.#policy.retention,
              keepWithinMs: hours === undefined ? undefined : Math.min(Math.round(hours * HOUR), LARGEST.ms),
            }),
          }),
      }),
      name: line({
        label: 'Name',
        placeholder: 'made from the rest',
        changed: (name) => edit({ name: name.trim() || undefined }),
      }),
    };
    this.element = el(
      'div',
      { class: 'form', hidden: true },
      this.#says,
      el('div', { class: 'form-grid' }, ...Object.values(this.#fields).map((field) => field.element)),
    );
  }

  /** Shows a policy. */
  show(policy: Policy): void {
    this.#policy = policy;
    const { kind, when, timeoutMs, onFailure, intervalMs, retention: kept, name } = policy;
    const fields = this.#fields;
    this.#says.textContent = KINDS[kind].says;
    fields.kind.show(kind);
    fields.interval.show(intervalMs);
    fields.interval.setHidden(kind !== 'interval');
    fields.when.show(when ?? 'always');
    fields.timeout.show(timeoutMs);
    fields.failure.show(onFailure ?? 'proceed');
    fields.last.show(kept?.keepLast);
    fields.within.show(kept?.keepWithinMs === undefined ? undefined : kept.keepWithinMs / HOUR);
    fields.name.show(name ?? '');
  }
}

/** A retention without what is left to the default; `undefined` if nothing is left. */
function retention(parts: { keepLast?: number | undefined; keepWithinMs?: number | undefined }) {
  const entries = Object.entries(parts).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
