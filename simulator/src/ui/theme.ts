import { button, el } from './dom.js';

const KEY = 'turnback-simulator-theme';
type Theme = 'light' | 'dark';

const wished = (): Theme => (window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');

/** What was chosen here before; a browser that keeps nothing has chosen nothing. */
function stored(): Theme | undefined {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'light' || value === 'dark' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A switch between light and dark. Without a choice the system's wish counts. */
export function themeSwitch(): HTMLElement {
  const apply = (theme: Theme | undefined) => {
    if (theme === undefined) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    control.setAttribute('aria-pressed', String((theme ?? wished()) === 'dark'));
  };
  const control = button(
    el('span', { 'aria-hidden': true }, '◐'),
    () => {
      const theme = control.getAttribute('aria-pressed') === 'true' ? 'light' : 'dark';
      apply(theme);
      try {
        localStorage.setItem(KEY, theme);
      } catch {
        // A browser that keeps nothing: the choice counts as long as the page is open.
      }
    },
    { class: 'plain icon', 'aria-label': 'Dark colours', title: 'Dark colours' },
  );
  apply(stored());
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => apply(stored()));
  return control;
}
