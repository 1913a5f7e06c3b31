import type { Source } from '../engine/protocol.js';
import { BUILTINS } from '../scenarios/index.js';
import { button, el } from './dom.js';

/** More than the format allows anyway. */
const LARGEST_FILE = 512 * 1024 * 1024;

/** Where scenarios come from: those of the page, a file by picker or drop, pasted text. */
export class Sources {
  readonly element: HTMLElement;
  readonly #open: (source: Source) => void;
  readonly #refused: (message: string) => void;
  readonly #built = new Map<string, HTMLButtonElement>();
  readonly #own = el('span', { class: 'own', hidden: true });
  readonly #dialog: HTMLDialogElement;

  constructor(open: (source: Source) => void, refused: (message: string) => void) {
    this.#open = open;
    this.#refused = refused;
    for (const { id, name } of BUILTINS) {
      this.#built.set(
        id,
        button(name, () => open({ kind: 'builtin', id }), { class: 'tab', 'aria-pressed': false }),
      );
    }
    const input = el('input', {
      type: 'file',
      // The button beside it opens it.
      hidden: true,
      accept: '.json,.jsonl,.ndjson,.txt',
    });
    input.addEventListener('change', () => {
      const file = input.files?.[0];
      if (file !== undefined) void this.#read(file);
      input.value = '';
    });
    this.#dialog = this.#pasteDialog();
    this.element = el(
      'nav',
      { class: 'sources', 'aria-label': 'Scenarios' },
      el(
        'div',
        { class: 'tabs', role: 'group', 'aria-label': 'Built-in scenarios' },
        ...this.#built.values(),
        this.#own,
      ),
      el(
        'div',
        { class: 'own-acts' },
        button('Open a file…', () => input.click(), { class: 'plain' }),
        button('Paste text…', () => this.#dialog.showModal(), { class: 'plain' }),
        input,
      ),
      this.#dialog,
    );
    this.#drops();
  }

  /** Marks the scenario that is open. */
  show(builtin: string | undefined, name: string): void {
    for (const [id, tab] of this.#built) tab.setAttribute('aria-pressed', String(id === builtin));
    this.#own.hidden = builtin !== undefined;
    this.#own.textContent = builtin === undefined ? name : '';
  }

  async #read(file: File): Promise<void> {
    if (file.size > LARGEST_FILE) {
      this.#refused(
        `${file.name} has ${Math.round(file.size / 1e6)} MB; a scenario has ${LARGEST_FILE / 1024 / 1024} MiB at most.`,
      );
      return;
    }
    try {
      this.#open({ kind: 'text', name: file.name, text: await file.text() });
    } catch (error) {
      this.#refused(`${file.name} could not be read: ${error instanceof Error ? error.message : error}`);
    }
  }

  #pasteDialog(): HTMLDialogElement {
    const text = el('textarea', {
      id: 'pasted',
      rows: 14,
      spellcheck: false,
      placeholder: '{ "version": 1, "batches": [ … ] }',
    });
    const dialog = el(
      'dialog',
      { class: 'paste', 'aria-labelledby': 'paste-title' },
      el(
        'form',
        { method: 'dialog' },
        el('h2', { id: 'paste-title' }, 'Paste a scenario or a log'),
        el(
          'label',
          { for: 'pasted' },
          'JSON or JSON Lines: a scenario, a recording of the guard, a session of Claude Code, OpenTelemetry spans',
        ),
        text,
        el(
          'div',
          { class: 'dialog-acts' },
          button('Cancel', () => dialog.close(), { class: 'plain' }),
          button(
            'Open',
            () => {
              dialog.close();
              this.#open({ kind: 'text', name: 'The pasted text', text: text.value });
            },
            { class: 'strong' },
          ),
        ),
      ),
    );
    return dialog;
  }

  /** A file may be dropped anywhere. */
  #drops(): void {
    let depth = 0;
    const files = (event: DragEvent) => event.dataTransfer?.types.includes('Files') === true;
    const over = (on: boolean) => document.body.classList.toggle('is-over', on);
    document.addEventListener('dragenter', (event) => {
      if (files(event)) over(++depth > 0);
    });
    document.addEventListener('dragleave', (event) => {
      if (files(event)) over(--depth > 0);
    });
    document.addEventListener('dragover', (event) => {
      if (files(event)) event.preventDefault();
    });
    document.addEventListener('drop', (event) => {
      depth = 0;
      over(false);
      const file = event.dataTransfer?.files[0];
      if (file === undefined) return;
      event.preventDefault();
      void this.#read(file);
    });
  }
}
