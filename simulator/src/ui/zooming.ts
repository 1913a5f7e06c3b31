import { select } from 'd3-selection';
import { type D3ZoomEvent, type ZoomTransform, zoom, zoomIdentity, zoomTransform } from 'd3-zoom';

/** The shortest stretch that fills the width, in milliseconds. */
const CLOSEST = 200;

/** Which stretch of the time is shown: by wheel, drag, pinch, buttons and keys, the same for all bands. */
export class Zooming {
  readonly #selection;
  readonly #zoom;
  #width = 1;
  #from = 0;
  #to = 1;

  constructor(element: HTMLElement, changed: () => void) {
    const still = window.matchMedia('(prefers-reduced-motion: reduce)');
    this.#zoom = zoom<HTMLElement, unknown>()
      // The wheel alone scrolls the page, as everywhere else.
      .filter((event: MouseEvent | WheelEvent | TouchEvent) => {
        if (!(event.target instanceof Element) || event.target.closest('.band-chart, .axis') === null) return false;
        return event instanceof WheelEvent
          ? event.ctrlKey || event.metaKey
          : !('button' in event) || event.button === 0;
      })
      .clickDistance(4)
      .duration(still.matches ? 0 : 200)
      .on('start', ({ sourceEvent }: D3ZoomEvent<HTMLElement, unknown>) => {
        if (sourceEvent instanceof MouseEvent && sourceEvent.type === 'mousedown') element.classList.add('is-dragged');
      })
      .on('end', () => element.classList.remove('is-dragged'))
      .on('zoom', changed);
    this.#selection = select(element).call(this.#zoom);
    element.addEventListener('wheel', (event) => this.#wheel(event), { passive: false });
  }

  /** The first moment shown and the last, in milliseconds. */
  get view(): [from: number, to: number] {
    const { k, x } = this.#transform;
    const perPixel = (this.#to - this.#from) / this.#width;
    const from = this.#from + (-x / k) * perPixel;
    return [from, from + (this.#width / k) * perPixel];
  }

  /** Whether everything is shown. */
  get whole(): boolean {
    return this.#transform.k <= 1.0001;
  }

  /** How wide the picture is, in pixels. The stretch shown stays. */
  resize(width: number): void {
    if (width === this.#width || width <= 0) return;
    const { k, x } = this.#transform;
    const scaled = zoomIdentity.translate((x / this.#width) * width, 0).scale(k);
    this.#width = width;
    this.#bound();
    this.#selection.call(this.#zoom.transform, scaled);
  }

  /** From when to when there is anything to see. */
  span(from: number, to: number, { keep }: { keep: boolean }): void {
    const [shownFrom, shownTo] = this.view;
    const whole = this.whole;
    this.#from = from;
    this.#to = Math.max(to, from + 1);
    this.#bound();
    if (keep && !whole) this.show(shownFrom, shownTo);
    else this.fit();
  }

  /** Shows everything. */
  fit(): void {
    this.#selection.call(this.#zoom.transform, zoomIdentity);
  }

  /** Nearer or further away, around a moment: the middle if none is given. */
  by(factor: number, around?: number): void {
    const [from, to] = this.view;
    const middle = around !== undefined && around >= from && around <= to ? around : (from + to) / 2;
    const at = ((middle - from) / (to - from)) * this.#width;
    this.#selection.call(this.#zoom.scaleBy, factor, [at, 0]);
  }

  /** Moves by a share of the width. */
  pan(share: number): void {
    this.#selection.call(this.#zoom.translateBy, (-share * this.#width) / this.#transform.k, 0);
  }

  /** Moves a stretch into sight, and nothing if it is there already. */
  reveal(from: number, to: number): void {
    const [left, right] = this.view;
    if (to >= left && from <= right) return;
    const half = (right - left) / 2;
    const middle = (from + to) / 2;
    this.show(middle - half, middle + half);
  }

  /** Shows one stretch. */
  show(from: number, to: number): void {
    const k = (this.#to - this.#from) / Math.max(1, to - from);
    const x = -((from - this.#from) / (this.#to - this.#from)) * this.#width * k;
    this.#selection.call(this.#zoom.transform, zoomIdentity.translate(x, 0).scale(k));
  }

  get #transform(): ZoomTransform {
    const node = this.#selection.node();
    return node === null ? zoomIdentity : zoomTransform(node);
  }

  #bound(): void {
    const area: [[number, number], [number, number]] = [
      [0, 0],
      [this.#width, 1],
    ];
    this.#zoom
      .extent(area)
      .translateExtent(area)
      .scaleExtent([1, Math.max(1, (this.#to - this.#from) / CLOSEST)]);
  }

  /** Sideways the wheel moves through time. */
  #wheel(event: WheelEvent): void {
    if (event.ctrlKey || event.metaKey) return;
    const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
    if (Math.abs(sideways) < Math.abs(event.deltaY) && !event.shiftKey) return;
    if (sideways === 0 || !(event.target instanceof Element) || event.target.closest('.band-chart, .axis') === null)
      return;
    event.preventDefault();
    this.pan((sideways * (event.deltaMode === 1 ? 20 : 1)) / this.#width);
  }
}
