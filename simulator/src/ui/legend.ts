import type { Batches, Run } from '../model/columns.js';
import { el } from './dom.js';

const SVG = 'http://www.w3.org/2000/svg';

/** Each mark as it is drawn, with what it means in one sentence. */
const MARKS: readonly (readonly [
  markup: string,
  name: string,
  says: string,
  shown?: (run: Run, batches: Batches) => boolean,
])[] = [
  ['<path class="m-works" d="M2 5H34v14H2z"/>', 'Work', 'A batch that may change files, as long as it runs.'],
  [
    '<path class="m-reads" d="M2.5 5.5H33.5v13H2.5z"/>',
    'Reading',
    'A batch that is proven to change nothing.',
    (_, batches) => batches.destructive.includes(0),
  ],
  [
    '<path class="m-wait" d="M0 10H16v4H0z"/><path class="m-works" d="M16 5H34v14H16z"/>',
    'Waiting',
    'How long a checkpoint held the batch up.',
    ({ summary }) => summary.waiting.maxMs > 0,
  ],
  [
    '<path class="m-attempt" d="M2 11H24v2H2z"/><path class="m-guard" d="M23.5 12h1v12h-1z"/><path class="m-kept" d="M24 7l5 5-5 5-5-5z"/>',
    'Checkpoint',
    'It took as long as the line, and from the diamond on there is a way back.',
    ({ summary }) => summary.checkpoints > 0,
  ],
  [
    '<path class="m-gone" d="M18 7l5 5-5 5-5-5z"/>',
    'Not kept',
    'A checkpoint that the retention has deleted by the end.',
    ({ summary }) => summary.kept < summary.checkpoints,
  ],
  [
    '<path class="m-lost" d="M0 11H12v2H0z"/><path class="m-failed" d="M8 8l8 8m0-8l-8 8"/><path class="m-lost" d="M20 11H32v2H20z"/><path class="m-failed" d="M32 7v10m-4-10v10"/>',
    'Failed, given up',
    'A cross: the driver failed. Two bars: nobody waited any longer.',
    ({ summary }) => summary.failures + summary.timeouts > 0,
  ],
  [
    '<path class="m-bare" d="M2 5H34v14H2z"/>',
    'Unprotected',
    'It ran although no checkpoint was made for it.',
    ({ summary }) => summary.unprotected > 0,
  ],
  [
    '<path class="m-refused" d="M12 7h10v10h-10zm2 2l6 6m0-6l-6 6"/>',
    'Refused',
    'It was not allowed to run without a checkpoint.',
    ({ summary }) => summary.refused > 0,
  ],
  [
    '<path class="m-works" d="M2 3H34v14H2z"/><path class="m-across" d="M2 18H34v2H2z"/>',
    'Takes others along',
    'Rolling this back would undo work of other turns, too.',
    ({ summary }) => summary.lost.acrossTurns > 0,
  ],
  [
    '<path class="m-risk" d="M2 21L22 7V21L34 14V21z"/><path class="m-risk-line" d="M2 21L22 7V21L34 14"/>',
    'Work at risk',
    'What a rollback at that moment would throw away, with what is running itself; it falls with each checkpoint.',
  ],
  [
    '<path class="m-risk" d="M2 21L18 11L34 4V21z"/><path class="m-risk-line" d="M2 21L18 11L34 4"/><circle class="m-peak" cx="18" cy="11" r="2.5"/>',
    'Earlier work lost at worst',
    'The most in sight that rolling back one batch takes along, at its beginning: the batch itself does not count.',
    ({ summary }) => summary.lost.maxMs > 0,
  ],
  ['<path class="m-nothing" d="M2 4H34v17H2z"/>', 'No way back', 'There is no checkpoint yet to go back to.'],
];

/** How to read the picture: those marks that are in it. */
export function legend(batches: Batches, runs: readonly Run[]): HTMLElement {
  const present = MARKS.filter(([, , , shown]) => shown === undefined || runs.some((run) => shown(run, batches)));
  const items = present.map(([markup, name, says]) => {
    const picture = document.createElementNS(SVG, 'svg');
    picture.setAttribute('viewBox', '0 0 36 24');
    picture.setAttribute('class', 'chart swatch');
    picture.setAttribute('aria-hidden', 'true');
    picture.innerHTML = markup;
    return el(
      'div',
      { class: 'legend-item' },
      picture as unknown as HTMLElement,
      el('dt', {}, name),
      el('dd', {}, says),
    );
  });
  return el('dl', { class: 'legend' }, ...items);
}
