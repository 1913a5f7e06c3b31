import { button, el } from './dom.js';

export type Format = 'svg' | 'json' | 'csv' | 'scenario';

const FORMATS: readonly (readonly [Format, string])[] = [
  ['svg', 'Picture (SVG)'],
  ['json', 'Simulation (JSON)'],
  ['csv', 'Batches (CSV)'],
  ['scenario', 'Scenario (JSON)'],
];
const TYPES: Readonly<Record<Format, readonly [extension: string, type: string]>> = {
  svg: ['svg', 'image/svg+xml'],
  json: ['simulation.json', 'application/json'],
  csv: ['csv', 'text/csv'],
  scenario: ['scenario.json', 'application/json'],
};

/** The menu of what can be saved. */
export function exportMenu(save: (format: Format) => void): HTMLElement {
  const menu = el(
    'details',
    { class: 'menu' },
    el('summary', { class: 'plain' }, 'Save'),
    el(
      'div',
      { class: 'menu-list' },
      ...FORMATS.map(([format, name]) =>
        button(name, () => {
          menu.open = false;
          save(format);
        }),
      ),
    ),
  );
  document.addEventListener('click', (event) => {
    if (event.target instanceof Node && !menu.contains(event.target)) menu.open = false;
  });
  menu.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !menu.open) return;
    // It closes the menu and nothing else.
    event.preventDefault();
    menu.open = false;
    menu.querySelector('summary')?.focus();
  });
  return menu;
}

/** Hands a text to the browser as a file. */
export function download(name: string, format: Format, text: string): void {
  const [extension, type] = TYPES[format];
  const url = URL.createObjectURL(new Blob([text], { type }));
  const stem =
    name
      .toLowerCase()
      .replace(/\.[a-z]+$/, '')
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '') || 'scenario';
  const anchor = el('a', { href: url, download: `${stem}.${extension}` });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
