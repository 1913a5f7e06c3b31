import type { Engine } from '../engine/client.js';
import type { Setup } from '../model/link.js';
import { button, el } from './dom.js';
import type { Notice } from './notice.js';

/** So long after the last edit the address follows. */
const PAUSE = 300;

/** Keeps the scenario in the page's address, so that a copy of the address is a copy of the scenario. */
export class LinkKeeper {
  readonly #engine: Engine;
  readonly #notice: Notice;
  #own = '';
  /** How often the set-up has changed: a link that was asked for before is none of it. */
  #asked = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(engine: Engine, notice: Notice, opened: (fragment: string) => void) {
    this.#engine = engine;
    this.#notice = notice;
    window.addEventListener('hashchange', () => {
      const fragment = this.fragment;
      if (fragment !== undefined && fragment !== this.#own) opened(fragment);
    });
  }

  /** What the address holds, if it is a scenario. */
  get fragment(): string | undefined {
    const fragment = location.hash.slice(1);
    return fragment.startsWith('s=') ? fragment : undefined;
  }

  /** The set-up has changed: soon the address follows. */
  keep(setup: Setup): void {
    clearTimeout(this.#timer);
    // From now on the address is an earlier scenario's, until it follows.
    this.#own = '';
    this.#asked += 1;
    this.#timer = setTimeout(() => {
      // A scenario that is too long for a link has none; who asks for it is told so.
      const asked = this.#asked;
      this.#make(setup).catch(() => {
        if (asked === this.#asked) this.#put('');
      });
    }, PAUSE);
  }

  /** The address held what could not be opened: it is the open scenario's again, so that nothing is lost when the page is loaded anew. */
  restore(): void {
    this.#put(this.#own);
  }

  /** Puts the link on the clipboard; where that is not allowed, it is shown to be copied by hand. */
  async copy(setup: Setup): Promise<void> {
    clearTimeout(this.#timer);
    let link: string;
    try {
      link = await this.#make(setup);
    } catch (error) {
      this.#notice.say('bad', error instanceof Error ? error.message : String(error));
      return;
    }
    try {
      await navigator.clipboard.writeText(link);
      this.#notice.say(
        'good',
        `Copied: a link that holds the scenario, its policies and the driver (${link.length} characters).`,
      );
    } catch {
      byHand(link);
    }
  }

  async #make(setup: Setup): Promise<string> {
    const asked = this.#asked;
    const { fragment } = await this.#engine.ask({ type: 'link', setup });
    if (asked === this.#asked) this.#put(fragment);
    return new URL(`#${fragment}`, location.href).href;
  }

  #put(fragment: string): void {
    this.#own = fragment;
    history.replaceState(null, '', fragment === '' ? location.pathname + location.search : `#${fragment}`);
  }
}

/** A dialog with the link in it. */
function byHand(link: string): void {
  const field = el('input', { type: 'text', readonly: true, value: link, 'aria-label': 'Link' });
  const dialog = el(
    'dialog',
    { class: 'paste', 'aria-label': 'The link', on: { close: () => dialog.remove() } },
    el('p', {}, 'The browser does not allow this page to copy. This is the link:'),
    field,
    el(
      'div',
      { class: 'dialog-acts' },
      button('Close', () => dialog.close(), { class: 'plain' }),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  field.select();
}
