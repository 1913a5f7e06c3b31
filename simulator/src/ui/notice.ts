import type { Trouble } from '../engine/protocol.js';
import { button, el } from './dom.js';

/** As much of a line as is shown. */
const EXCERPT = 100;

/** One message at a time, above everything else. */
export class Notice {
  readonly element = el('div', { class: 'notice', role: 'alert', hidden: true });

  /**
   * Says what could not be opened, where and why, and what is shown `instead`. `text`: what was to be opened, if it is one that the reader can
   * see: only then are there lines and columns to speak of.
   */
  refused(what: string, trouble: Trouble, { text, instead }: { text: string | undefined; instead: string }): void {
    const place = [
      text !== undefined && trouble.line !== undefined && `line ${trouble.line}`,
      text !== undefined && trouble.column !== undefined && `column ${trouble.column}`,
      trouble.path !== undefined && trouble.path !== '' && `field ${trouble.path}`,
    ].filter(Boolean);
    // The place stands in the first sentence already.
    const message = trouble.message.replace(/^line \d+(, column \d+)?: /, '');
    const line = trouble.line === undefined ? undefined : text?.split(/\r\n|\n|\r/, trouble.line)[trouble.line - 1];
    this.#show(
      'bad',
      el('p', {}, el('strong', {}, `${what} could not be opened`), place.length > 0 && ` (${place.join(', ')})`, '.'),
      el('p', {}, message),
      line !== undefined && line.trim() !== '' && excerpt(line, trouble.line ?? 1, trouble.column ?? 1),
      el('p', { class: 'muted' }, instead),
    );
  }

  /** Says something. */
  say(kind: 'bad' | 'good', text: string): void {
    this.#show(kind, el('p', {}, text));
  }

  clear(): void {
    this.element.hidden = true;
    this.element.replaceChildren();
  }

  #show(kind: 'bad' | 'good', ...content: (HTMLElement | false | undefined)[]): void {
    this.element.className = `notice ${kind}`;
    const shown = content.filter((part): part is HTMLElement => part instanceof HTMLElement);
    this.element.replaceChildren(
      el('div', {}, ...shown),
      button('Dismiss', () => this.clear(), { class: 'plain' }),
    );
    this.element.hidden = false;
    this.element.scrollIntoView({ block: 'nearest' });
  }
}

/** The line that is meant, around the column. */
function excerpt(line: string, number: number, column: number): HTMLElement {
  const from = Math.max(0, Math.min(column - 1 - EXCERPT / 2, line.length - EXCERPT));
  const shown = `${from > 0 ? '…' : ''}${line.slice(from, from + EXCERPT)}${from + EXCERPT < line.length ? '…' : ''}`;
  return el('pre', {}, el('span', { class: 'line-number' }, String(number)), el('code', {}, shown));
}
