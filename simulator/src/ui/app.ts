import type { Policy } from 'turnback-policy/simulate';
import { Engine, SimulatorError } from '../engine/client.js';
import type { Loaded, Simulated, Source, Trouble } from '../engine/protocol.js';
import { duration, plural } from '../model/format.js';
import { headline } from '../model/headline.js';
import type { Setup } from '../model/link.js';
import { nameOf } from '../model/policy-words.js';
import { BUILTINS } from '../scenarios/index.js';
import { BatchTable } from './batch-table.js';
import { Details } from './details.js';
import { button, byId } from './dom.js';
import { DriverForm } from './driver-form.js';
import { download, exportMenu, type Format } from './exports.js';
import { legend } from './legend.js';
import { LinkKeeper } from './link-keeper.js';
import { Notice } from './notice.js';
import { savedFigure } from './saved-figure.js';
import { Sources } from './sources.js';
import { summaryTable } from './summary-table.js';
import { themeSwitch } from './theme.js';
import { type Looked, Timeline } from './timeline.js';

/** What the page shows first. */
const FIRST = { kind: 'builtin', id: 'rapid' } as const;

/** The page: keeps what is open, and tells its parts. */
export class App {
  readonly #engine = new Engine();
  readonly #notice = new Notice();
  readonly #details = new Details(() => this.#unlook());
  readonly #rows = new BatchTable();
  readonly #sources = new Sources(
    (source) => void this.#open(source),
    (message) => this.#notice.say('bad', message),
  );
  readonly #driver = new DriverForm((part) => this.#edit(part));
  readonly #timeline = new Timeline({
    policies: (policies) => this.#edit({ policies }),
    looked: (looked, passing) => this.#look(looked, passing),
  });
  readonly #link = new LinkKeeper(
    this.#engine,
    this.#notice,
    (fragment) => void this.#open({ kind: 'link', fragment }),
  );
  #loaded: Loaded | undefined;
  #setup: Setup = { seed: 0, driver: {}, policies: [] };
  #result: Simulated | undefined;
  #chosen: Looked | undefined;
  #headline = '';

  /** Fills the page and opens what the address holds, or the first scenario. */
  start(): void {
    byId('notice').append(this.#notice.element);
    byId('sources').append(this.#sources.element);
    byId('driver').append(this.#driver.element);
    byId('timeline').append(this.#timeline.element);
    byId('details').append(this.#details.element);
    byId('rows').append(this.#rows.element);
    // They scroll where they are longer than the window or wider than the page, by keyboard as well.
    for (const id of ['side', 'summary-table']) byId(id).tabIndex = 0;
    byId('summary-table').setAttribute('role', 'region');
    byId('summary-table').setAttribute('aria-label', 'The figures of each policy');
    byId('acts').append(
      button('Copy link', () => void this.#link.copy(this.#setup), { class: 'strong' }),
      exportMenu((format) => void this.#save(format)),
      themeSwitch(),
    );
    this.#listen();
    void this.#begin();
  }

  async #begin(): Promise<void> {
    const fragment = this.#link.fragment;
    if (fragment !== undefined && (await this.#open({ kind: 'link', fragment }))) return;
    await this.#open(FIRST, { keepNotice: fragment !== undefined });
  }

  /** Opens a scenario; what cannot be opened is said, and the one that was open stays. */
  async #open(source: Source, { keepNotice = false } = {}): Promise<boolean> {
    try {
      const loaded = await this.#engine.ask({ type: 'load', source });
      if (!keepNotice) this.#notice.clear();
      this.#loaded = loaded;
      this.#setup = loaded.setup;
      this.#chosen = undefined;
      this.#sources.show(loaded.builtin, loaded.name);
      this.#details.clear();
      for (const note of loaded.notes) this.#notice.say('good', note);
      this.#changed({ keep: false });
      return true;
    } catch (error) {
      const what = source.kind === 'text' ? source.name : source.kind === 'link' ? 'The link' : 'The scenario';
      this.#notice.refused(what, troubleOf(error), {
        text: source.kind === 'text' ? source.text : undefined,
        instead:
          this.#loaded === undefined
            ? `“${BUILTINS.find(({ id }) => id === FIRST.id)?.name}” is shown instead.`
            : 'The scenario that was open stays.',
      });
      if (source.kind === 'link') this.#link.restore();
      return false;
    }
  }

  #edit(part: Partial<Setup>): void {
    this.#setup = { ...this.#setup, ...part };
    this.#changed({ keep: true });
  }

  #changed({ keep }: { keep: boolean }): void {
    const loaded = this.#loaded;
    if (loaded === undefined) return;
    this.#timeline.show(this.#setup.policies);
    this.#driver.show(this.#setup, loaded.batches.recorded);
    this.#engine.run(
      this.#setup,
      (result) => this.#draw(loaded, this.#setup.policies, result, keep),
      (error) => this.#notice.say('bad', troubleOf(error).message),
    );
    this.#link.keep(this.#setup);
  }

  #draw(loaded: Loaded, policies: readonly Policy[], result: Simulated, keep: boolean): void {
    this.#result = result;
    const names = policies.map(nameOf);
    const told = result.runs.map(({ summary }, place) => ({ summary, name: names[place] ?? summary.name }));
    this.#headline = headline(told, BUILTINS.find(({ id }) => id === loaded.builtin)?.lead);
    byId('headline').textContent = unbroken(this.#headline);
    byId('main').classList.toggle('is-empty-scenario', loaded.batches.count === 0);
    byId('scenario').textContent = [loaded.name, loaded.description].filter((text) => text !== '').join('. ');
    byId('summary-table').replaceChildren(
      summaryTable(
        result.runs.map(({ summary }) => summary),
        names,
      ),
    );
    byId('took').textContent =
      `${plural(loaded.batches.count, 'batch', 'batches')} under ${plural(result.runs.length, 'policy', 'policies')}, simulated in ${duration(result.tookMs)}.`;
    byId('legend').replaceChildren(legend(loaded.batches, result.runs));
    this.#timeline.draw(loaded.batches, result.runs, { keep });
    this.#rows.show(loaded.batches, result.runs, names);
    this.#look(this.#chosen, false);
    document.documentElement.dataset.drawn = String(Number(document.documentElement.dataset.drawn ?? 0) + 1);
  }

  #look(looked: Looked | undefined, passing: boolean): void {
    if (!passing) this.#chosen = looked;
    const [loaded, result, shown] = [this.#loaded, this.#result, looked ?? this.#chosen];
    if (loaded === undefined || result === undefined) return;
    const mine = shown === undefined ? undefined : result.runs[shown.policy];
    const there =
      shown !== undefined &&
      mine !== undefined &&
      (shown.at.kind === 'batch' || shown.at.attempt < mine.attempts.count);
    if (there) this.#details.show(loaded.batches, result.runs, shown, passing);
    else this.#details.clear();
  }

  /** The details go by key, and where they lie over the page by a tap on any empty ground as well. */
  #listen(): void {
    document.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || event.defaultPrevented || this.#chosen === undefined) return;
      if (event.target instanceof Element && event.target.closest('dialog, input, select, textarea') !== null) return;
      this.#unlook();
    });
    const sheet = window.matchMedia('(max-width: 1080px)');
    document.addEventListener('click', ({ target }) => {
      // The timeline's pictures tell marks and empty ground apart themselves.
      const taken = '#details, .band-chart, dialog, button, a, input, select, textarea, label, summary';
      if (!sheet.matches || this.#chosen === undefined || !(target instanceof Element)) return;
      if (target.isConnected && target.closest(taken) === null) this.#timeline.clear();
    });
  }

  #unlook(): void {
    const inside = byId('details').contains(document.activeElement);
    this.#timeline.clear();
    // Where the button is gone that had the focus, Tab goes on from the timeline.
    if (inside) byId('timeline').focus({ preventScroll: true });
  }

  async #save(format: Format): Promise<void> {
    const [loaded, result] = [this.#loaded, this.#result];
    if (loaded === undefined || result === undefined) return;
    try {
      const text =
        format === 'svg'
          ? savedFigure(
              loaded.name,
              unbroken(this.#headline),
              this.#timeline.pictures,
              result.runs,
              this.#setup.policies,
            )
          : await this.#engine.ask({ type: 'export', format, setup: this.#setup });
      download(loaded.name, format, text);
    } catch (error) {
      this.#notice.say('bad', troubleOf(error).message);
    }
  }
}

/** A text whose figures stay together with their units. */
const unbroken = (text: string): string =>
  text.replace(/(\d) (?=(?:ms|s|min|h)\b)|(\b(?:min|h)) (?=\d)/g, '$1$2\u00a0');

const troubleOf = (error: unknown): Trouble =>
  error instanceof SimulatorError ? error.trouble : { message: error instanceof Error ? error.message : String(error) };
