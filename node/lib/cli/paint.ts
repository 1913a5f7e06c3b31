/** Colours, where standard output is a terminal that has them and nobody asked for none (`NO_COLOR`, `TERM=dumb`). */
export interface Paint {
  added(text: string): string;
  removed(text: string): string;
  hunk(text: string): string;
  head(text: string): string;
}

const plain = (text: string) => text;
const sgr = (code: number) => (text: string) => `\x1b[${code}m${text}\x1b[0m`;

const PLAIN: Paint = { added: plain, removed: plain, hunk: plain, head: plain };
const COLOURED: Paint = { added: sgr(32), removed: sgr(31), hunk: sgr(36), head: sgr(1) };

export function paint(): Paint {
  return process.stdout.isTTY && process.stdout.hasColors() ? COLOURED : PLAIN;
}
