import type { Policy } from 'turnback-policy/simulate';
import type { Frame } from '../chart/frame.js';
import { pointed, ticks, timeScale } from '../chart/frame.js';
import type { Hit } from '../chart/hit.js';
import { px } from '../chart/strokes.js';
import type { Batches, Run } from '../model/columns.js';
import { clock, duration, moment } from '../model/format.js';
import { drawnFrom, drawnTo } from '../model/lanes.js';
import { highestRisk } from '../model/risk.js';
import { BandView } from './band-view.js';
import { button, el } from './dom.js';
import { neighbour } from './moves.js';
import { Zooming } from './zooming.js';

/** What the reader looks at: a batch or an attempt, under one of the policies. */
export interface Looked {
  readonly policy: number;
  readonly at: Hit;
}

/** What the timeline tells the page. */
export interface TimelineEvents {
  policies(policies: readonly Policy[]): void;
  /** `passing`: the pointer is over it; otherwise it was chosen. */
  looked(looked: Looked | undefined, passing: boolean): void;
}

const SVG = 'http://www.w3.org/2000/svg';

/** All policies below one another, along one axis. */
export class Timeline {
  readonly element: HTMLElement;
  readonly #events: TimelineEvents;
  readonly #bands: BandView[] = [];
  readonly #stack = el('div', { class: 'stack' });
  readonly #axis = document.createElementNS(SVG, 'svg');
  readonly #crosshair = el('div', { class: 'crosshair', hidden: true });
  readonly #range = el('output', { class: 'range' });
  readonly #zooming: Zooming;
  #policies: readonly Policy[] = [];
  #drawn: { batches: Batches; runs: readonly Run[] } | undefined;
  #chosen: { policy: number; batch: number } = { policy: -1, batch: 0 };
  #due = 0;

  constructor(events: TimelineEvents) {
    this.#events = events;
    this.#axis.setAttribute('class', 'axis chart');
    this.#axis.setAttribute('aria-hidden', 'true');
    const tools = el(
      'div',
      { class: 'tools', role: 'group', 'aria-label': 'Zoom and pan' },
      button('←', () => this.#zooming.pan(-0.25), { 'aria-label': 'Earlier' }),
      button('→', () => this.#zooming.pan(0.25), { 'aria-label': 'Later' }),
      button('−', () => this.#zooming.by(1 / 1.6), { 'aria-label': 'Zoom out' }),
      button('+', () => this.#zooming.by(1.6, this.#around()), { 'aria-label': 'Zoom in' }),
      button('All', () => this.#zooming.fit(), { 'aria-label': 'All: show everything' }),
    );
    const hint = el('p', { class: 'hint' }, 'Drag to pan, ', el('kbd', {}, 'Ctrl'), ' + wheel or pinch to zoom.');
    this.element = el(
      'div',
      { class: 'timeline' },
      el('div', { class: 'timeline-bar' }, tools, this.#range, hint),
      this.#stack,
      button('+ Add a policy', () => this.#add(), { class: 'add' }),
    );
    this.#stack.append(this.#axis as unknown as HTMLElement, this.#crosshair);
    this.#zooming = new Zooming(this.#stack, () => this.#later());
    for (const moved of ['scroll', 'resize'] as const) {
      window.addEventListener(moved, () => this.#comeNear(), { passive: true });
    }
    window.addEventListener('beforeprint', () => this.#paint({ everything: true }));
    new ResizeObserver(() => {
      this.#zooming.resize(this.#stack.clientWidth);
      this.#later();
    }).observe(this.#stack);
  }

  /** Shows which policies there are, at once; what they come to follows with {@link draw}. */
  show(policies: readonly Policy[]): void {
    this.#policies = policies;
    while (this.#bands.length > policies.length) this.#bands.pop()?.element.remove();
    while (this.#bands.length < policies.length) this.#insert(this.#bands.length);
    for (const [place, policy] of policies.entries()) this.#bands[place]?.showPolicy(policy, place, policies.length);
  }

  /** Draws what became of the batches. `keep`: it is the same scenario still, so that the stretch shown stays. */
  draw(batches: Batches, runs: readonly Run[], { keep }: { keep: boolean }): void {
    this.#drawn = { batches, runs };
    // It told a moment of what was there before.
    if (!keep) this.#crosshair.hidden = true;
    if (!keep || this.#chosen.batch >= batches.count)
      this.#chosen = { policy: -1, batch: runs[0]?.lanes[0]?.order[0] ?? 0 };
    const until = runs.reduce((latest, run) => Math.max(latest, run.until), 0);
    const from = batches.origin;
    // A little air before the first mark and behind the last.
    const air = Math.max((until - from) * 0.012, 1);
    this.#zooming.span(from - air, until + air, { keep });
    this.#zooming.resize(this.#stack.clientWidth);
    this.#later();
  }

  /** Nothing is looked at any more. The cursor stays where it is, for the keyboard. */
  clear(): void {
    for (const view of this.#bands) view.ring(undefined);
    this.#select(-1, this.#chosen.batch);
    this.#events.looked(undefined, false);
  }

  /** What an exported figure shows: the stretch in sight, of every policy. */
  get pictures(): { frame: Frame; axis: string; bands: { markup: string; height: number }[] } {
    this.#paint();
    return {
      frame: this.#frame(),
      axis: this.#axis.innerHTML,
      bands: this.#bands.flatMap(({ picture }) => (picture === undefined ? [] : [picture])),
    };
  }

  /** Bands that have come near are drawn. */
  #comeNear(): void {
    if (this.#bands.some((view) => view.stale && view.near)) this.#later();
  }

  #later(): void {
    if (this.#due === 0) this.#due = requestAnimationFrame(() => this.#paint());
  }

  #frame(): Frame {
    const [from, to] = this.#zooming.view;
    const risks = this.#drawn?.runs.flatMap((run) => run.lanes.map((lane) => highestRisk(lane.risk, from, to))) ?? [];
    return { width: this.#stack.clientWidth, from, to, riskMax: Math.max(0, ...risks) };
  }

  #paint({ everything = false } = {}): void {
    cancelAnimationFrame(this.#due);
    this.#due = 0;
    const drawn = this.#drawn;
    // While a policy comes or goes, the picture waits for its figures.
    if (drawn === undefined || drawn.runs.length !== this.#bands.length) return;
    const frame = this.#frame();
    if (frame.width === 0) return;
    // All of them are asked before any is written to, so that the browser lays the page out once.
    const near = this.#bands.map((view) => everything || view.near);
    for (const [place, view] of this.#bands.entries()) {
      const run = drawn.runs[place];
      if (run !== undefined) view.draw(drawn.batches, run, frame, { near: near[place] === true });
    }
    this.#paintAxis(frame, drawn.batches.origin);
    this.#select(this.#chosen.policy, this.#chosen.batch);
  }

  #paintAxis(frame: Frame, origin: number): void {
    const x = timeScale(frame);
    const labels = ticks(frame, origin).map((tick) => {
      const left = x(tick);
      const anchor = left < 20 ? 'start' : left > frame.width - 24 ? 'end' : 'middle';
      return `<path class="m-tick" d="M${px(left)} 22v6"/><text class="t-axis" x="${px(left)}" y="17" text-anchor="${anchor}">${clock(tick - origin)}</text>`;
    });
    this.#axis.setAttribute('viewBox', `0 0 ${frame.width} 28`);
    this.#axis.innerHTML = labels.join('');
    const all = this.#zooming.whole ? 'everything: ' : '';
    this.#range.textContent = `${all}${duration(frame.to - frame.from)}, from ${moment(Math.max(0, frame.from - origin))}`;
  }

  #insert(place: number): BandView {
    const mine = () => this.#bands.indexOf(view);
    const view: BandView = new BandView({
      edited: (policy) => this.#change((all) => all.with(mine(), policy)),
      duplicated: () => {
        const from = mine();
        const policy = this.#policies[from];
        if (policy === undefined) return;
        const made = this.#insert(from + 1);
        this.#change((all) => all.toSpliced(from + 1, 0, policy));
        made.open();
      },
      removed: () => {
        const from = mine();
        view.element.remove();
        this.#bands.splice(from, 1);
        this.#change((all) => all.toSpliced(from, 1));
        this.#bands[Math.min(from, this.#bands.length - 1)]?.focus();
      },
      pointed: (at, time) => this.#point(mine(), at, time),
      clicked: (at, top) => {
        if (at === undefined) {
          this.clear();
          return;
        }
        // The details are there before the mark is moved clear of them.
        this.#events.looked({ policy: mine(), at }, false);
        if (at.kind === 'batch') {
          this.#select(mine(), at.batch);
          view.focus();
        } else uncover(top);
      },
      focused: (batch) => this.#choose(mine(), batch),
      key: (event) => this.#key(event, mine()),
    });
    const after = this.#bands[place - 1]?.element ?? this.#axis;
    after.after(view.element);
    this.#bands.splice(place, 0, view);
    return view;
  }

  #change(edit: (policies: Policy[]) => Policy[]): void {
    this.#policies = edit([...this.#policies]);
    this.#events.policies(this.#policies);
  }

  #add(): void {
    this.#change((all) => [...all, { kind: 'every_batch' }]);
    this.#bands.at(-1)?.open();
  }

  #point(policy: number, at: Hit | undefined, time: number | undefined): void {
    for (const view of this.#bands) view.ring(at?.kind === 'batch' ? at.batch : undefined);
    this.#crosshair.hidden = time === undefined;
    if (time !== undefined) {
      const frame = this.#frame();
      this.#crosshair.style.left = `${px(timeScale(frame)(time))}px`;
      this.#crosshair.dataset.at = pointed(frame, time - (this.#drawn?.batches.origin ?? 0));
    }
    this.#events.looked(at === undefined ? undefined : { policy, at }, true);
  }

  #select(policy: number, batch: number): void {
    this.#chosen = { policy, batch };
    for (const [place, view] of this.#bands.entries()) {
      view.select(batch);
      view.active = place === policy;
    }
  }

  #choose(policy: number, batch: number): void {
    const run = this.#drawn?.runs[policy];
    if (run !== undefined) this.#zooming.reveal(drawnFrom(run, batch), drawnTo(run, batch));
    this.#select(policy, batch);
    this.#events.looked({ policy, at: { kind: 'batch', batch } }, false);
  }

  /** The moment around which keys and buttons zoom. */
  #around(): number | undefined {
    const run = this.#drawn?.runs[Math.max(0, this.#chosen.policy)];
    return run === undefined ? undefined : drawnFrom(run, this.#chosen.batch);
  }

  #key(event: KeyboardEvent, policy: number): void {
    if (event.ctrlKey || event.metaKey || event.altKey || this.#drawn === undefined) return;
    const act = {
      '+': () => this.#zooming.by(1.6, this.#around()),
      '=': () => this.#zooming.by(1.6, this.#around()),
      '-': () => this.#zooming.by(1 / 1.6, this.#around()),
      '0': () => this.#zooming.fit(),
    }[event.key];
    if (act !== undefined) act();
    else if (event.shiftKey && event.key === 'ArrowLeft') this.#zooming.pan(-0.25);
    else if (event.shiftKey && event.key === 'ArrowRight') this.#zooming.pan(0.25);
    else {
      const next = neighbour(event.key, this.#drawn.batches, this.#drawn.runs, policy, this.#chosen.batch);
      if (next === undefined) return;
      this.#choose(next.policy, next.batch);
      this.#paint();
      this.#bands[next.policy]?.focus();
    }
    event.preventDefault();
  }
}

/** So much of the picture stays in sight beneath a mark, in pixels. */
const CLEAR = 24;

/** Moves the page so that what stands at `top` is not beneath what covers the window's lower end (page.css: `scroll-padding-bottom`). */
function uncover(top: number): void {
  const covered = Number.parseFloat(getComputedStyle(document.documentElement).scrollPaddingBottom);
  const over = top + CLEAR - (window.innerHeight - covered);
  if (over > 0) window.scrollBy(0, over);
}
