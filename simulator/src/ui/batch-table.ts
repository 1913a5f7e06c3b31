import { type Batches, OUTCOMES, type Run } from '../model/columns.js';
import { waited } from '../model/csv.js';
import { isBare, turnText } from '../model/describe.js';
import { duration, moment, number, plural } from '../model/format.js';
import { letter } from '../model/policy-words.js';
import { turnNames } from '../model/turn-names.js';
import { button, el, freshId } from './dom.js';

const PAGE = 50;
const HEAD = ['#', 'Asked at', 'Turn', 'Tool', 'Kind', 'Waited', 'Ran', 'Checkpoint', 'Lost by a rollback'];
const WORDS: Readonly<Record<(typeof OUTCOMES)[number], string>> = {
  created: 'made one',
  joined: 'shared one',
  already_covered: 'covered already',
  skipped: 'skipped',
  failed: 'failed',
  timed_out: 'gave up',
};

/** The timeline's content as a table: of one policy, page by page. */
export class BatchTable {
  readonly element: HTMLElement;
  readonly #policy = el('select', { id: freshId() });
  readonly #place = el('span', { class: 'muted', role: 'status' });
  readonly #body = el('tbody');
  readonly #earlier = button('Earlier', () => this.#turn(-1), { class: 'plain' });
  readonly #later = button('Later', () => this.#turn(1), { class: 'plain' });
  #shown: { batches: Batches; runs: readonly Run[]; order: Int32Array } | undefined;
  #page = 0;

  constructor() {
    const details = el(
      'details',
      { class: 'batch-table', on: { toggle: () => this.#draw() } },
      el('summary', {}, el('h2', {}, 'The batches as a table')),
      el(
        'div',
        { class: 'table-bar' },
        el('label', { for: this.#policy.id }, 'Under policy'),
        this.#policy,
        this.#earlier,
        this.#later,
        this.#place,
      ),
      el(
        'div',
        { class: 'scroller', tabindex: 0, role: 'region', 'aria-label': 'The batches, a row each' },
        el(
          'table',
          { class: 'rows' },
          el('thead', {}, el('tr', {}, ...HEAD.map((text) => el('th', { scope: 'col' }, text)))),
          this.#body,
        ),
      ),
    );
    this.#policy.addEventListener('change', () => this.#draw());
    this.element = details;
  }

  show(batches: Batches, runs: readonly Run[], names: readonly string[]): void {
    const chosen = Number(this.#policy.value || 0);
    this.#policy.replaceChildren(
      ...names.map((name, place) => el('option', { value: place }, `${letter(place)}: ${name}`)),
    );
    this.#policy.value = String(Math.min(chosen, runs.length - 1));
    const order = Int32Array.from({ length: batches.count }, (_, place) => place);
    if (this.#shown?.batches !== batches) this.#page = 0;
    this.#shown = {
      batches,
      runs,
      order: order.sort((a, b) => (batches.start[a] ?? 0) - (batches.start[b] ?? 0) || a - b),
    };
    this.#draw();
  }

  #turn(step: number): void {
    this.#page += step;
    this.#draw();
  }

  #draw(): void {
    const shown = this.#shown;
    if (shown === undefined || !(this.element as HTMLDetailsElement).open) return;
    const run = shown.runs[Number(this.#policy.value)];
    if (run === undefined) return;
    const pages = Math.max(1, Math.ceil(shown.order.length / PAGE));
    this.#page = Math.max(0, Math.min(this.#page, pages - 1));
    const from = this.#page * PAGE;
    const mine = shown.order.subarray(from, from + PAGE);
    this.#earlier.disabled = this.#page === 0;
    this.#later.disabled = this.#page === pages - 1;
    this.#place.textContent = `${number(from + 1)} to ${number(from + mine.length)} of ${plural(shown.order.length, 'batch', 'batches')}`;
    this.#body.replaceChildren(...Array.from(mine, (batch) => row(shown.batches, run, batch)));
  }
}

/** A turn beneath a head that says that it is one. */
const turnOf = (batches: Batches, batch: number): string =>
  turnNames(batches.turns)[batches.turn[batch] ?? -1] ?? turnText(batches, batch);

function row(batches: Batches, run: Run, batch: number): HTMLElement {
  const refused = Number.isNaN(run.start[batch] ?? Number.NaN);
  const [outcome, others] = [OUTCOMES[run.outcome[batch] ?? 0] ?? 'skipped', run.lostTurns[batch] ?? 0];
  const checkpoint = [WORDS[outcome], refused && 'refused', isBare(batches, run, batch) && 'unprotected'].filter(
    Boolean,
  );
  const lost =
    batches.destructive[batch] !== 1 || refused
      ? '–'
      : (run.returnsTo[batch] ?? -1) < 0
        ? 'nothing to go back to'
        : `${duration(run.lostMs[batch] ?? 0)}${others > 0 ? `, ${plural(others, 'other turn')}` : ''}`;
  const cells = [
    String(batch),
    moment((run.at[batch] ?? 0) - batches.origin),
    batches.sandboxes.length > 1
      ? `${turnOf(batches, batch)} (${batches.sandboxes[batches.sandbox[batch] ?? 0]})`
      : turnOf(batches, batch),
    batches.tools[batches.tool[batch] ?? -1] ?? '–',
    batches.destructive[batch] === 1 ? 'may change files' : 'only reads',
    duration(waited(run, batch)),
    refused ? '–' : duration(batches.duration[batch] ?? 0),
    checkpoint.join(', '),
    lost,
  ];
  return el(
    'tr',
    {},
    ...cells.map((cell, place) => el(place === 0 ? 'th' : 'td', place === 0 ? { scope: 'row' } : {}, cell)),
  );
}
