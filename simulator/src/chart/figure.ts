import { fittedText, widthOf } from './fit.js';
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
/** With less room than that for its name, a policy has its figures beneath it. */
const LEAST_NAME = 220;
const FIGURES_LINE = 18;
const SEPARATOR = ' · ';
/** The sizes of the letters, as chart.css has them. */
const SIZE = { title: 13, head: 19, band: 14, figures: 11 } as const;

/** The timeline as a picture of its own, which needs nothing from the page. */
export function figure({ title, headline, frame, axis, bands, style, patterns }: Figure): string {
  const lines = wrap(headline, frame.width);
  let top = MARGIN + 14 + lines.length * LINE + 16;
  const head = [
    `<text class="f-title" x="${MARGIN}" y="${MARGIN + 6}">${fittedText(title, frame.width, SIZE.title)}</text>`,
    ...lines.map(
      (text, place) =>
        `<text class="f-head" x="${MARGIN}" y="${MARGIN + 14 + (place + 1) * LINE - 6}">${fittedText(text, frame.width, SIZE.head)}</text>`,
    ),
    `<g transform="translate(${MARGIN} ${top})">${axis}</g>`,
  ];
  top += 36;
  const widest = Math.max(0, ...bands.map(({ figures }) => widthOf(figures, SIZE.figures)));
  const beside = frame.width - widest - MARGIN;
  const narrow = beside < LEAST_NAME;
  const body = bands.map(({ name, figures, markup, height }) => {
    const name_ = `<text class="f-band" x="${MARGIN}" y="${px(top + 20)}">${fittedText(name, narrow ? frame.width : beside, SIZE.band)}</text>`;
    const beneath = narrow ? figureLines(figures, frame.width) : [];
    const said = narrow
      ? beneath.map(
          (line, place) =>
            `<text class="f-figures" x="${MARGIN}" y="${px(top + 38 + place * FIGURES_LINE)}">${escapeText(line)}</text>`,
        )
      : [
          `<text class="f-figures" x="${px(MARGIN + frame.width)}" y="${px(top + 20)}" text-anchor="end">${escapeText(figures)}</text>`,
        ];
    top += HEAD + beneath.length * FIGURES_LINE;
    const picture = `<svg x="${MARGIN}" y="${px(top)}" width="${px(frame.width)}" height="${px(height)}">${markup}</svg>`;
    top += height + 8;
    return name_ + said.join('') + picture;
  });
  const [width, height] = [frame.width + 2 * MARGIN, top + MARGIN];
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${px(width)} ${px(height)}" width="${px(width)}" height="${px(height)}" class="chart figure" role="img">` +
    `<title>${escapeText(`${title}: ${headline}`)}</title><style>${style}</style><defs>${patterns}</defs>` +
    `<rect class="f-paper" width="100%" height="100%"/>${head.join('')}${body.join('')}</svg>\n`
  );
}

/** Breaks a headline between words, where its letters have no more room: no line of it is shortened, save for a word as long as that. */
function wrap(text: string, room: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    const longer = `${last} ${word}`;
    if (last !== undefined && widthOf(longer, SIZE.head) <= room) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** Breaks figures between one another, so that none is cut. */
function figureLines(figures: string, room: number): string[] {
  const lines: string[] = [];
  for (const part of figures.split(SEPARATOR)) {
    const longer = lines.length === 0 ? part : `${lines.at(-1)}${SEPARATOR}${part}`;
    if (lines.length > 0 && widthOf(longer, SIZE.figures) <= room) lines[lines.length - 1] = longer;
    else lines.push(part);
  }
  return lines;
}
