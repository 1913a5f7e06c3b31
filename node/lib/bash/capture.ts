import { KeptBytes } from './kept-bytes.js';

/** Room for the line that stands for what was left out, in bytes. */
const MARKER_BYTES = 64;

/**
 * One stream's output as well-formed text of at most a number of bytes of UTF-8. Of longer output the beginning (a quarter)
 * and the end are kept, because the end is where errors stand, and no character is cut in two.
 */
export class Capture {
  // One decoder for the whole stream: a character may be split between chunks. The byte order mark is output like any other.
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #most: number;
  readonly #headMost: number;
  readonly #head: KeptBytes;
  readonly #tail: KeptBytes;
  #headLength = 0;
  #total = 0;

  constructor(mostBytes: number) {
    this.#most = mostBytes;
    this.#headMost = Math.floor(mostBytes / 4);
    this.#head = new KeptBytes(this.#headMost);
    this.#tail = new KeptBytes(mostBytes - this.#headMost);
  }

  add(chunk: Uint8Array): void {
    this.#keep(Buffer.from(this.#decoder.decode(chunk, { stream: true })));
  }

  /** The text, once all was added. */
  end(): { text: string; truncated: boolean } {
    this.#keep(Buffer.from(this.#decoder.decode()));
    const [head, tail] = [this.#head.bytes, this.#tail.bytes];
    if (this.#total <= this.#most) return { text: Buffer.concat([head, tail]).toString(), truncated: false };
    const begin = wholeAtEnd(head);
    const end = wholeAtStart(tail.subarray(MARKER_BYTES));
    const marker = `\n[... ${this.#total - begin.length - end.length} bytes left out ...]\n`;
    return { text: `${begin.toString()}${marker}${end.toString()}`, truncated: true };
  }

  #keep(bytes: Buffer): void {
    this.#total += bytes.length;
    const toHead = bytes.subarray(0, this.#headMost - this.#headLength);
    this.#headLength += toHead.length;
    this.#head.add(toHead);
    this.#tail.add(bytes.subarray(toHead.length));
  }
}

/** Whether a byte of well-formed UTF-8 goes on with a character. */
function goesOn(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Without the beginning of a character whose rest was cut off. */
function wholeAtEnd(bytes: Buffer): Buffer {
  let start = bytes.length - 1;
  while (goesOn(bytes[start])) start -= 1;
  const lead = bytes[start];
  if (lead === undefined) return bytes.subarray(0, 0);
  const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return start + length <= bytes.length ? bytes : bytes.subarray(0, start);
}

/** Without the rest of a character whose beginning was cut off. */
function wholeAtStart(bytes: Buffer): Buffer {
  let start = 0;
  while (goesOn(bytes[start])) start += 1;
  return bytes.subarray(start);
}
