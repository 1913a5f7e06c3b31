import { untilAborted } from '../../bash/waits.js';

/** More than any tool call has, in bytes. */
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * How long nothing must come before the input is looked at, in milliseconds. Twice as long after each look that found half an object:
 * so many are few, however long the input is and whatever its parts end in.
 */
const PAUSE_MS = 20;

/**
 * What standard input holds, as text: to its end, or an object of JSON that it holds so far when nothing more comes, because some hosts leave
 * their end open. What goes on for too long is read to its end all the same, so that whoever writes is not disturbed.
 */
export async function standardInput(signal: AbortSignal): Promise<string> {
  if (process.stdin.isTTY) throw new Error('there is no input: a host writes it, and not a terminal');
  const input = new Input();
  try {
    const read = await untilAborted(signal, Promise.race([all(input), input.object]));
    if (read === 'aborted') throw new Error('the input did not end in time');
    return read;
  } finally {
    input.over();
    process.stdin.destroy();
  }
}

async function all(input: Input): Promise<string> {
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) input.add(chunk);
  return input.text();
}

/** What has come so far. */
class Input {
  /** Resolves when it holds an object and nothing more comes. */
  readonly object: Promise<string>;
  #found: (text: string) => void = () => {};
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** The last byte that is no white space. */
  #last: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = PAUSE_MS;

  constructor() {
    this.object = new Promise((resolve) => {
      this.#found = resolve;
    });
  }

  add(chunk: Buffer): void {
    clearTimeout(this.#timer);
    this.#bytes += chunk.length;
    if (this.#bytes > MOST_BYTES) {
      this.#chunks.length = 0;
      return;
    }
    this.#chunks.push(chunk);
    this.#last = chunk.findLast((byte) => !WHITE.has(byte)) ?? this.#last;
    if (this.#last === CLOSING_BRACE) this.#timer = setTimeout(() => this.#look(), this.#pauseMs);
  }

  /** @throws Error when it is too long */
  text(): string {
    if (this.#bytes > MOST_BYTES) throw new Error(`the input has ${this.#bytes} bytes, which is more than is read`);
    // Without the mark that some hosts put before a text.
    return new TextDecoder().decode(Buffer.concat(this.#chunks));
  }

  over(): void {
    clearTimeout(this.#timer);
  }

  #look(): void {
    this.#pauseMs *= 2;
    const text = this.text();
    if (isJson(text)) this.#found(text);
  }
}

const CLOSING_BRACE = 0x7d;
/** What JSON takes for white space. */
const WHITE: ReadonlySet<number> = new Set([0x20, 0x0a, 0x0d, 0x09]);

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
