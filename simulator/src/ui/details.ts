import { ATTEMPT_OUTCOMES, type Batches, type Run } from '../model/columns.js';
import { attemptText, isBare, outcomeText, rollbackText, turnNamed, turnText } from '../model/describe.js';
import { duration, moment } from '../model/format.js';
import { letter } from '../model/policy-words.js';
import { button, el } from './dom.js';
import type { Looked } from './timeline.js';

const HINT = 'Point at a mark, or move along the timeline by keyboard: what it is stands here.';
const KEYS: readonly (readonly [keys: string, what: string])[] = [
  ['← →', 'batch'],
  ['↑ ↓', 'lane, policy'],
  ['Page ↑ ↓', 'turn'],
  ['+ − 0', 'zoom'],
  ['Shift ← →', 'pan'],
];

/** What the reader looks at, in words: a batch under each of the policies, or an attempt. */
export class Details {
  readonly element: HTMLElement;
  readonly #content = el('div', { class: 'details-content', 'aria-live': 'polite' });

  /** `closed`: the reader has seen enough. */
  constructor(closed: () => void) {
    this.element = el(
      'section',
      { class: 'details', 'aria-labelledby': 'details-title' },
      el('h2', { id: 'details-title' }, 'Details'),
      button('Close', closed, { class: 'plain details-close', 'aria-label': 'Close the details' }),
      this.#content,
    );
    this.clear();
  }

  clear(): void {
    this.element.classList.add('is-empty');
    const keys = KEYS.map(([key, what]) => el('div', {}, el('dt', {}, el('kbd', {}, key)), el('dd', {}, what)));
    this.#content.replaceChildren(el('p', { class: 'muted' }, HINT), el('dl', { class: 'keys' }, ...keys));
  }

  /** `passing`: the pointer only passes over it, which is not read aloud. */
  show(batches: Batches, runs: readonly Run[], { policy, at }: Looked, passing: boolean): void {
    this.#content.setAttribute('aria-live', passing ? 'off' : 'polite');
    const run = runs[policy];
    if (run === undefined) return;
    this.element.classList.remove('is-empty');
    this.#content.replaceChildren(
      ...(at.kind === 'attempt' ? attempt(batches, run, at.attempt, policy) : batch(batches, runs, at.batch, policy)),
    );
  }
}

function batch(batches: Batches, runs: readonly Run[], place: number, policy: number): HTMLElement[] {
  const sandbox = batches.sandboxes.length > 1 ? [batches.sandboxes[batches.sandbox[place] ?? 0] ?? ''] : [];
  const facts = [
    turnText(batches, place),
    ...sandbox,
    `runs ${duration(batches.duration[place] ?? 0)}`,
    batches.destructive[place] === 1 ? 'may change files' : 'only reads',
  ];
  return [
    el(
      'h3',
      {},
      batches.tools[batches.tool[place] ?? -1] ?? 'A batch',
      ' ',
      el('span', { class: 'muted' }, `batch ${place}`),
    ),
    el('p', { class: 'facts' }, facts.join(' · ')),
    el(
      'ol',
      { class: 'verdicts' },
      ...runs.map((run, other) =>
        el(
          'li',
          { class: other === policy ? 'verdict mine' : 'verdict' },
          el('span', { class: 'badge small', 'aria-label': `Under policy ${letter(other)}:` }, letter(other)),
          el(
            'div',
            {},
            el('p', {}, el('span', { class: 'when' }, when(batches, run, place)), ' ', outcomeText(run, place)),
            isBare(batches, run, place) && el('p', { class: 'alarm' }, 'Ran unprotected.'),
            other === policy && el('p', { class: 'rollback' }, rollbackText(batches, run, place)),
            other !== policy && el('p', { class: 'rollback' }, short(batches, run, place)),
          ),
        ),
      ),
    ),
  ];
}

const when = (batches: Batches, run: Run, place: number): string => `${moment((run.at[place] ?? 0) - batches.origin)}.`;

/** What a rollback would cost under a policy that the reader does not look at. */
function short(batches: Batches, run: Run, place: number): string {
  if (batches.destructive[place] !== 1 || Number.isNaN(run.start[place] ?? Number.NaN)) return '';
  if ((run.returnsTo[place] ?? -1) < 0) return 'Nothing to go back to.';
  const others = run.lostTurns[place] ?? 0;
  return `A rollback would lose ${duration(run.lostMs[place] ?? 0)}${others > 0 ? ', also of other turns' : ''}.`;
}

function attempt(batches: Batches, run: Run, place: number, policy: number): HTMLElement[] {
  const { attempts } = run;
  const outcome = ATTEMPT_OUTCOMES[attempts.outcome[place] ?? 0];
  const name =
    outcome === 'succeeded' ? 'Checkpoint' : outcome === 'failed' ? 'Failed checkpoint' : 'Checkpoint given up';
  const parts: (HTMLElement | false)[] = [
    el('h3', {}, `${name} ${attempts.number[place]}`),
    el(
      'p',
      { class: 'facts' },
      `policy ${letter(policy)} · ${turnNamed(batches, attempts.turn[place] ?? -1)} · asked for at ${moment((attempts.at[place] ?? 0) - batches.origin)}`,
    ),
    el('p', {}, attemptText(batches, run, place)),
    attempts.late[place] === 1 && el('p', {}, 'Late: earlier batches of its turn had run before it was complete.'),
  ];
  return parts.filter((part): part is HTMLElement => part !== false);
}
