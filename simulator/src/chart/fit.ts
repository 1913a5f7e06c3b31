import { escapeText } from './strokes.js';

/** Letters that are as wide as they are high: Chinese, Japanese, Korean, full width, emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f000}-\u{3fffd}]/u;

/** The width of a letter, in heights: no less than most fonts have it, as nothing is measured where a picture is saved. */
function share(letter: string): number {
  if (WIDE.test(letter) || /[MWmw@%—]/.test(letter)) return 1;
  return /[A-Z]/.test(letter) ? 0.8 : 0.6;
}

/** How wide a text is at most, in pixels, in letters of that size. */
export const widthOf = (text: string, size: number): number =>
  [...text].reduce((sum, letter) => sum + share(letter) * size, 0);

/** The labels' size, in pixels: as high as a letter counts, which is less than its line. */
const LABEL = 32 / 3;

/** How wide a text is at most, in pixels, in the size of the labels: nothing is measured while drawing. */
export const textWidth = (text: string): number => widthOf(text, LABEL);

/** The text if it has room, else its beginning with an ellipsis. `room` and `size` in pixels. */
export function fitted(text: string, room: number, size: number): string {
  if (widthOf(text, size) <= room) return text;
  let left = room - size;
  let kept = '';
  for (const letter of text) {
    left -= share(letter) * size;
    if (left < 0) break;
    kept += letter;
  }
  return `${kept.trimEnd()}…`;
}

/** What stands inside of a `<text>`: the text as far as it has room, and all of it as its title where it was shortened. */
export function fittedText(text: string, room: number, size: number): string {
  const shown = fitted(text, room, size);
  return shown === text ? escapeText(text) : `<title>${escapeText(text)}</title>${escapeText(shown)}`;
}
