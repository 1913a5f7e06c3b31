import type { Frame } from './frame.js';
import { escapeText, px } from './strokes.js';

/** What stands in a picture that leaves the page. */
export interface Figure {
  readonly title: string;
  readonly headline: string;
  readonly frame: Frame;
  readonly axis: string;
  readonly bands: readonly {
    readonly name: string;
    readonly figures: string;
    readonly markup: string;
    readonly height: number;
  }[];
  /** The rules of the marks, with every colour named. */
  readonly style: string;
  /** The hatchings that they use. */
  readonly patterns: string;
}

const MARGIN = 24;
const LINE = 26;
const HEAD = 40;
/** A narrower picture has the figures beneath the name. */
const NARROW = 640;

/** The timeline as a picture of its own, which needs nothing from the page. */
export function figure({ title, headline, frame, axis, bands, style, patterns }: Figure): string {
  const lines = wrap(headline, Math.max(24, Math.floor(frame.width / 9.2)));
  let top = MARGIN + 14 + lines.length * LINE + 16;
  const head = [
    `<text class="f-title" x="${MARGIN}" y="${MARGIN + 6}">${escapeText(title)}</text>`,
    ...lines.map(
      (text, place) =>
        `<text class="f-head" x="${MARGIN}" y="${MARGIN + 14 + (place + 1) * LINE - 6}">${escapeText(text)}</text>`,
    ),
    `<g transform="translate(${MARGIN} ${top})">${axis}</g>`,
  ];
  top += 36;
  const narrow = frame.width < NARROW;
  const above = narrow ? HEAD + 14 : HEAD;
  const body = bands.map(({ name, figures, markup, height }) => {
    const name_ = `<text class="f-band" x="${MARGIN}" y="${px(top + 20)}">${escapeText(name)}</text>`;
    const said = narrow
      ? `<text class="f-figures" x="${MARGIN}" y="${px(top + 38)}">${escapeText(figures)}</text>`
      : `<text class="f-figures" x="${px(MARGIN + frame.width)}" y="${px(top + 20)}" text-anchor="end">${escapeText(figures)}</text>`;
    const picture = `<svg x="${MARGIN}" y="${px(top + above)}" width="${px(frame.width)}" height="${px(height)}">${markup}</svg>`;
    top += above + height + 8;
    return name_ + said + picture;
  });
  const [width, height] = [frame.width + 2 * MARGIN, top + MARGIN];
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${px(width)} ${px(height)}" width="${px(width)}" height="${px(height)}" class="chart figure" role="img">` +
    `<title>${escapeText(`${title}: ${headline}`)}</title><style>${style}</style><defs>${patterns}</defs>` +
    `<rect class="f-paper" width="100%" height="100%"/>${head.join('')}${body.join('')}</svg>\n`
  );
}

/** Breaks a text between words. */
function wrap(text: string, most: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < most) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
