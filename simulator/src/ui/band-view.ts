import type { Policy } from 'turnback-policy/simulate';
import { band } from '../chart/band.js';
import { type Frame, timeScale } from '../chart/frame.js';
import { BATCH, barTop, boxesOf, type LaneBox } from '../chart/geometry.js';
import { type Hit, hit } from '../chart/hit.js';
import type { Batches, Run } from '../model/columns.js';
import { outcomeText, turnText } from '../model/describe.js';
import { duration, number } from '../model/format.js';
import { drawnFrom, drawnTo } from '../model/lanes.js';
import { KINDS, letter, nameOf } from '../model/policy-words.js';
import { inHowMany, losesEverything, worstText } from '../model/worst.js';
import { button, el } from './dom.js';
import { PolicyForm } from './policy-form.js';

/** What a band tells the timeline. */
export interface BandEvents {
  edited(policy: Policy): void;
  duplicated(): void;
  removed(): void;
  pointed(at: Hit | undefined, moment: number | undefined): void;
  /** `undefined`: empty ground. `top`: where in the window, in pixels. */
  clicked(at: Hit | undefined, top: number): void;
  focused(batch: number): void;
  key(event: KeyboardEvent): void;
}

const SVG = 'http://www.w3.org/2000/svg';

/** So far outside of the window a band is still drawn, in pixels. */
const NEAR = 300;

/** One policy: what it is called and comes to, its controls, and its picture. */
export class BandView {
  readonly element: HTMLElement;
  readonly #badge = el('span', { class: 'badge', 'aria-hidden': true });
  readonly #name = el('span', { class: 'band-name' });
  readonly #tag = el('span', { class: 'tag', hidden: true });
  readonly #figures = el('dl', { class: 'figures' });
  readonly #chart = document.createElementNS(SVG, 'svg');
  readonly #list = el('div', { class: 'cursor-layer', role: 'listbox' });
  readonly #cursor = el('div', { class: 'cursor', role: 'option', tabindex: 0 });
  readonly #ring = el('div', { class: 'ring', hidden: true });
  readonly #form: PolicyForm;
  readonly #remove: HTMLButtonElement;
  readonly #edit: HTMLButtonElement;
  #shown: { batches: Batches; run: Run; frame: Frame; boxes: readonly LaneBox[] } | undefined;
  #stale = false;
  #batch = 0;

  constructor(events: BandEvents) {
    this.#form = new PolicyForm(events.edited);
    this.#edit = button('Edit', () => this.#toggle(), { class: 'link', 'aria-expanded': false });
    this.#remove = button('Remove', events.removed, { class: 'link' });
    const acts = el(
      'div',
      { class: 'band-acts' },
      this.#edit,
      button('Duplicate', events.duplicated, { class: 'link' }),
      this.#remove,
    );
    this.#chart.setAttribute('class', 'band-chart chart');
    this.#chart.setAttribute('aria-hidden', 'true');
    this.#list.append(this.#cursor);
    this.element = el(
      'section',
      { class: 'band' },
      el('header', { class: 'band-head' }, el('h3', {}, this.#badge, this.#name, this.#tag), this.#figures, acts),
      this.#form.element,
      el('div', { class: 'band-picture' }, this.#chart as unknown as HTMLElement, this.#ring, this.#list),
    );
    this.#listen(events);
  }

  /** The place of a policy in the list, its name and whether it may go. */
  showPolicy(policy: Policy, place: number, count: number): void {
    const name = nameOf(policy);
    this.#badge.textContent = letter(place);
    this.#name.textContent = name;
    const { mistake } = KINDS[policy.kind];
    this.#tag.hidden = !mistake && policy.kind !== 'per_turn';
    this.#tag.textContent = mistake ? 'a mistake others made' : 'Turnback’s rule';
    this.#tag.classList.toggle('is-mistake', mistake);
    this.#remove.disabled = count < 2;
    this.element.setAttribute('aria-label', `Policy ${letter(place)}: ${name}`);
    this.#list.setAttribute('aria-label', `Batches under policy ${letter(place)}, ${name}`);
    for (const act of this.element.querySelectorAll<HTMLButtonElement>('.band-acts button')) {
      act.setAttribute('aria-label', `${act.textContent} policy ${letter(place)}`);
    }
    this.#form.show(policy);
  }

  /** Draws what became of the batches; what is not near is drawn when it comes near. */
  draw(batches: Batches, run: Run, frame: Frame, { near }: { near: boolean }): void {
    const { boxes, height } = boxesOf(run.lanes);
    if (near) this.#chart.innerHTML = band(batches, run, frame).markup;
    this.#stale = !near;
    this.#chart.setAttribute('viewBox', `0 0 ${frame.width} ${height}`);
    this.#chart.setAttribute('height', String(height));
    if (this.#shown?.run !== run) this.#figures.replaceChildren(...figures(run));
    this.#shown = { batches, run, frame, boxes };
  }

  /** Whether its picture is an earlier one, because it was far from the window when there was a new one. */
  get stale(): boolean {
    return this.#stale;
  }

  /** Whether it is in the window, or soon may be. */
  get near(): boolean {
    const { top, bottom } = this.element.getBoundingClientRect();
    return bottom > -NEAR && top < window.innerHeight + NEAR;
  }

  /** Puts the cursor on a batch. */
  select(batch: number): void {
    this.#batch = batch;
    const shown = this.#shown;
    this.#cursor.hidden = shown === undefined || batch >= shown.batches.count;
    if (shown === undefined || batch >= shown.batches.count) return;
    const away = !this.#place(this.#cursor, batch);
    this.#cursor.classList.toggle('away', away);
    const lane = shown.run.lanes[shown.batches.sandbox[batch] ?? 0];
    const position = (lane?.order.indexOf(batch) ?? 0) + 1;
    this.#cursor.setAttribute('aria-posinset', String(position));
    this.#cursor.setAttribute('aria-setsize', String(lane?.order.length ?? 0));
    const where =
      shown.batches.sandboxes.length > 1
        ? `, sandbox ${shown.batches.sandboxes[shown.batches.sandbox[batch] ?? 0]}`
        : '';
    const label = `${shown.batches.tools[shown.batches.tool[batch] ?? -1] ?? 'batch'} ${number(batch)}, ${turnText(shown.batches, batch)}${where}. ${outcomeText(shown.run, batch)}`;
    this.#cursor.setAttribute('aria-label', label);
  }

  /** Whether its cursor is the one that the reader moves. */
  set active(active: boolean) {
    this.#cursor.setAttribute('aria-selected', String(active));
    this.#cursor.classList.toggle('active', active);
  }

  /** Rings the batch that the reader points at; `undefined`: none. */
  ring(batch: number | undefined): void {
    this.#ring.hidden = batch === undefined || !this.#place(this.#ring, batch);
  }

  focus(): void {
    this.#cursor.focus({ preventScroll: true });
    this.#cursor.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }

  /** What of the picture an exported figure needs. */
  get picture(): { readonly markup: string; readonly height: number } | undefined {
    const shown = this.#shown;
    return shown === undefined ? undefined : band(shown.batches, shown.run, shown.frame);
  }

  /** Opens the controls. */
  open(): void {
    if (this.#form.element.hidden) this.#toggle();
    this.#edit.focus();
  }

  #toggle(): void {
    const form = this.#form.element;
    form.hidden = !form.hidden;
    this.#edit.setAttribute('aria-expanded', String(!form.hidden));
  }

  /** Puts a box around a batch; `false`: it is not in sight. */
  #place(box: HTMLElement, batch: number): boolean {
    const shown = this.#shown;
    if (shown === undefined) return false;
    const { run, batches, frame, boxes } = shown;
    const place = batches.sandbox[batch] ?? 0;
    const lane = boxes[place];
    if (lane === undefined) return false;
    const x = timeScale(frame);
    const start = run.start[batch] ?? Number.NaN;
    const [from, to] = [Number.isNaN(start) ? drawnFrom(run, batch) : start, drawnTo(run, batch)];
    const [left, right] = [x(from), Math.max(x(to), x(from) + (Number.isNaN(start) ? 10 : 2))];
    const inSight = right >= 0 && left <= frame.width;
    const row = lane.lane.row[lane.lane.order.indexOf(batch)] ?? 0;
    box.style.left = `${Math.max(0, Math.min(left, frame.width - 4)) - 3}px`;
    box.style.width = `${Math.max(4, Math.min(right, frame.width) - Math.max(0, left)) + 6}px`;
    box.style.top = `${barTop(lane, row) - 3}px`;
    box.style.height = `${BATCH + 6}px`;
    return inSight;
  }

  #listen(events: BandEvents): void {
    const at = (event: MouseEvent): [Hit | undefined, number | undefined] => {
      const shown = this.#shown;
      if (shown === undefined) return [undefined, undefined];
      const area = this.#chart.getBoundingClientRect();
      const [left, top] = [event.clientX - area.left, event.clientY - area.top];
      return [hit(shown.boxes, shown.run, shown.frame, left, top), timeScale(shown.frame).invert(left)];
    };
    this.#chart.addEventListener('pointermove', (event) => {
      if (event.pointerType !== 'touch' && event.buttons === 0) events.pointed(...at(event));
    });
    this.#chart.addEventListener('pointerleave', () => events.pointed(undefined, undefined));
    this.#chart.addEventListener('click', (event) => {
      events.clicked(at(event)[0], event.clientY);
    });
    this.#cursor.addEventListener('focus', () => events.focused(this.#batch));
    this.#cursor.addEventListener('keydown', events.key);
  }
}

/** What a policy comes to, in four figures. */
function figures({ summary }: Run): HTMLElement[] {
  const nothing = losesEverything(summary);
  const lost = nothing ? `lost at worst, ${inHowMany(summary)}` : 'earlier work lost at worst';
  const all: [value: string, label: string, alarming: boolean][] = [
    [worstText(summary), lost, summary.lost.acrossTurns > 0 || nothing],
    [number(summary.checkpoints), summary.checkpoints === 1 ? 'checkpoint' : 'checkpoints', false],
    [duration(summary.waiting.totalMs), 'waited', false],
    [number(summary.unprotected), 'unprotected', summary.unprotected > 0],
  ];
  if (summary.refused > 0) all.push([number(summary.refused), 'refused', true]);
  return all.map(([value, label, alarming]) =>
    el('div', { class: alarming ? 'figure alarming' : 'figure' }, el('dt', {}, label), el('dd', {}, value)),
  );
}
