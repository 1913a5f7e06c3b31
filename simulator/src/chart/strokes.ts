/** Collects the outlines of all marks of a kind into one path: a few elements draw thousands of marks. */
export class Strokes {
  readonly #parts: string[] = [];
  #last: { x: number; y: number; right: number; height: number } | undefined;

  /** A bar. Bars that follow so closely that nobody could tell them apart become one. */
  bar(x: number, right: number, y: number, height: number): void {
    const end = Math.max(right, x + 1);
    const last = this.#last;
    if (
      last !== undefined &&
      last.y === y &&
      last.height === height &&
      x - last.right < 0.6 &&
      x >= last.x &&
      (end - x < 3 || last.right - last.x < 3)
    ) {
      last.right = Math.max(last.right, end);
      return;
    }
    this.#flush();
    this.#last = { x, y, right: end, height };
  }

  /** Any outline. */
  add(outline: string): void {
    this.#parts.push(outline);
  }

  /** The path's element; empty if there is nothing in it. */
  path(kind: string): string {
    this.#flush();
    return this.#parts.length === 0 ? '' : `<path class="${kind}" d="${this.#parts.join('')}"/>`;
  }

  #flush(): void {
    const last = this.#last;
    if (last === undefined) return;
    this.#parts.push(`M${px(last.x)} ${px(last.y)}H${px(last.right)}v${px(last.height)}H${px(last.x)}z`);
    this.#last = undefined;
  }
}

/** A number of pixels as SVG wants it. */
export const px = (value: number): string => String(Math.round(value * 10) / 10);

/** A text of somebody else's inside of markup. */
export const escapeText = (text: string): string =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: XML has no way to write them
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');

/** Strokes of several kinds: one lies over those that are named before it. */
export class Layers<Kind extends string> {
  readonly of: Readonly<Record<Kind, Strokes>>;
  readonly #kinds: readonly Kind[];

  constructor(...kinds: readonly Kind[]) {
    this.#kinds = kinds;
    this.of = Object.fromEntries(kinds.map((kind) => [kind, new Strokes()])) as Record<Kind, Strokes>;
  }

  /** Their elements. */
  markup(): string {
    return this.#kinds.map((kind) => this.of[kind].path(`m-${kind}`)).join('');
  }
}
