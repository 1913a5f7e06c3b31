/**
 * JSON that knows where things stand, because a file that people write by hand needs messages with a line. `JSON.parse` says where only
 * in some engines, and where a *value* stands in none.
 */

/** A name or a place on the way from the whole text to a value in it. */
export type Step = string | number;

/** What is wrong with a text as JSON, and where. */
export class JsonProblem extends Error {
  constructor(
    message: string,
    /** As a place in the text. */
    readonly at: number,
    /** Whether the text is over in the middle of a value that may have been right. */
    readonly cutOff: boolean,
    /** The way to the value in which it is wrong. */
    readonly path: readonly Step[],
  ) {
    super(message);
  }
}

/** Where the value of a path stands, or what comes nearest to it. */
export interface Found {
  at: number;
  /** How many steps of the path could be gone. */
  steps: number;
}

/** No scenario is anywhere near it, and a deeper text must not end this program's stack. */
const MOST_DEPTH = 64;

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const CUT_NUMBER = /^(?:\.|[eE][+-]?)$/;
const WORD = /[\p{L}\p{N}_$]+/uy;
const WORDS: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null };
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

/** Reads one value after the other from a part of a text. Throws {@link JsonProblem}. */
export class JsonReader {
  readonly #text: string;
  readonly #end: number;
  readonly #path: Step[] = [];
  readonly #wanted: readonly Step[];
  #at: number;
  #ended: number;
  #found: Found | undefined;

  /** `wanted` is a path to look for while values are read. */
  constructor(text: string, start = 0, end = text.length, wanted: readonly Step[] = []) {
    this.#text = text;
    this.#at = start;
    this.#ended = start;
    this.#end = end;
    this.#wanted = wanted;
    this.#space();
  }

  /** Where it is: behind the last value and the space that follows. */
  get at(): number {
    return this.#at;
  }

  /** Where the last value ended. */
  get ended(): number {
    return this.#ended;
  }

  /** Whether nothing is left. */
  get over(): boolean {
    return this.#at >= this.#end;
  }

  /** The place that comes nearest to the wanted path, of all that was read. */
  get found(): Found | undefined {
    return this.#found;
  }

  /** The next value, which is at this path. */
  value(...path: Step[]): unknown {
    this.#path.length = 0;
    this.#path.push(...path);
    const matched = path.every((step, at) => step === this.#wanted[at]) ? path.length : -1;
    const value = this.#value(0, matched);
    this.#ended = this.#at;
    this.#space();
    return value;
  }

  /** `matched`: how many steps of the wanted path lead here, or -1. */
  #value(depth: number, matched: number): unknown {
    if (matched > (this.#found?.steps ?? -1)) this.#found = { at: this.#at, steps: matched };
    switch (this.#text[this.#inside() ? this.#at : this.#end]) {
      case '{':
        return this.#object(depth + 1, matched);
      case '[':
        return this.#array(depth + 1, matched);
      case '"':
        return this.#string();
      default:
        return this.#scalar();
    }
  }

  #object(depth: number, matched: number): Record<string, unknown> {
    this.#deeper(depth);
    const object: Record<string, unknown> = {};
    this.#at += 1;
    this.#space();
    if (this.#takes('}')) return object;
    for (;;) {
      const at = this.#at;
      const name = this.#name();
      this.#path.push(name);
      if (Object.hasOwn(object, name)) {
        throw this.#problem('it is given twice here: remove one of them', at);
      }
      this.#space();
      if (!this.#takes(':')) throw this.#unexpected(`a colon after ${shown(name)}`);
      this.#space();
      const value = this.#value(depth, matched >= 0 && this.#wanted[matched] === name ? matched + 1 : -1);
      if (name === '__proto__') define(object, name, value);
      else object[name] = value;
      this.#path.pop();
      this.#space();
      if (this.#takes('}')) return object;
      if (!this.#takes(',')) throw this.#unexpected('a comma or }');
      this.#space();
      if (this.#is('}')) throw this.#problem('there is a comma too much before }: remove it');
    }
  }

  #array(depth: number, matched: number): unknown[] {
    this.#deeper(depth);
    const array: unknown[] = [];
    this.#at += 1;
    this.#space();
    if (this.#takes(']')) return array;
    for (;;) {
      this.#path.push(array.length);
      const hit = matched >= 0 && this.#wanted[matched] === array.length;
      array.push(this.#value(depth, hit ? matched + 1 : -1));
      this.#path.pop();
      this.#space();
      if (this.#takes(']')) return array;
      if (!this.#takes(',')) throw this.#unexpected('a comma or ]');
      this.#space();
      if (this.#is(']')) throw this.#problem('there is a comma too much before ]: remove it');
    }
  }

  #deeper(depth: number): void {
    if (depth > MOST_DEPTH) throw this.#problem(`it is nested deeper than ${MOST_DEPTH} levels, which no scenario is`);
  }

  #name(): string {
    if (this.#is('"')) return this.#string();
    throw this.#unexpected('a name in double quotes');
  }

  #string(): string {
    const text = this.#text;
    const start = this.#at + 1;
    let from = start;
    let done = '';
    for (let at = start; at < this.#end; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.#at = at + 1;
        return done + text.slice(from, at);
      }
      if (code === BACKSLASH) {
        done += text.slice(from, at);
        this.#at = at;
        done += this.#escape();
        at = this.#at - 1;
        from = this.#at;
      } else if (code < SPACE) {
        const what = code === 0x0a || code === 0x0d ? 'the line ends' : 'there is a control character';
        throw this.#problem(
          `${what} inside a text: close the text with a double quote, or write ${escaped(code)} for it`,
          at,
        );
      }
    }
    throw this.#ends();
  }

  /** What an escape stands for. */
  #escape(): string {
    const at = this.#at;
    const letter = at + 1 < this.#end ? this.#text[at + 1] : undefined;
    if (letter === undefined) throw this.#ends();
    if (letter !== 'u') {
      const plain = ESCAPES[letter];
      if (plain === undefined)
        throw this.#problem(`\\${letter} stands for nothing in a text: write \\\\ for a backslash`);
      this.#at = at + 2;
      return plain;
    }
    const digits = this.#text.slice(at + 2, Math.min(at + 6, this.#end));
    if (!/^[0-9a-fA-F]*$/.test(digits)) throw this.#problem('\\u needs four hexadecimal digits');
    if (digits.length < 4) throw this.#ends();
    this.#at = at + 6;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  #scalar(): unknown {
    NUMBER.lastIndex = this.#at;
    const number = this.#inside() ? NUMBER.exec(this.#text)?.[0] : undefined;
    if (number !== undefined) {
      if (this.#isCutNumber(number.length)) throw this.#ends();
      this.#at += number.length;
      if (number === '0' && /\d/.test(this.#text[this.#at] ?? '')) {
        throw this.#problem('a number does not begin with a zero: leave it out');
      }
      // No field has a use for a negative zero.
      return Number(number) || 0;
    }
    const word = this.#word();
    const value = WORDS[word];
    if (value !== undefined && Object.hasOwn(WORDS, word)) {
      this.#at += word.length;
      return value;
    }
    throw this.#unexpected('a value');
  }

  /** Whether the end came before the fraction or the exponent of a number was whole. */
  #isCutNumber(length: number): boolean {
    const next = this.#text[this.#at + length];
    if (next !== '.' && next !== 'e' && next !== 'E') return false;
    const rest = this.#text.slice(this.#at + length, this.#end);
    return CUT_NUMBER.test(rest);
  }

  #word(): string {
    WORD.lastIndex = this.#at;
    return this.#inside() ? (WORD.exec(this.#text)?.[0] ?? '') : '';
  }

  #space(): void {
    for (; this.#at < this.#end; this.#at += 1) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== SPACE && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
    }
  }

  #inside(): boolean {
    return this.#at < this.#end;
  }

  #is(character: string): boolean {
    return this.#inside() && this.#text[this.#at] === character;
  }

  #takes(character: string): boolean {
    if (!this.#is(character)) return false;
    this.#at += 1;
    return true;
  }

  #problem(message: string, at = this.#at): JsonProblem {
    return new JsonProblem(message, at, false, [...this.#path]);
  }

  #ends(): JsonProblem {
    const where = this.#end < this.#text.length ? 'line' : 'text';
    return new JsonProblem(`the ${where} ends in the middle of a value`, this.#end, true, [...this.#path]);
  }

  /** Something else than `expected` is here: what, and what was probably meant. */
  #unexpected(expected: string): JsonProblem {
    if (!this.#inside()) return this.#ends();
    const word = this.#word();
    const rest = this.#text.slice(this.#at, this.#end);
    if (expected === 'a value') {
      // The end may have come before the value was whole.
      if (rest === '-') return this.#ends();
      if (word !== '' && word === rest && Object.keys(WORDS).some((known) => known.startsWith(word)))
        return this.#ends();
    }
    const here = word === '' ? (Array.from(rest.slice(0, 2))[0] ?? '') : word;
    return this.#problem(`${expected} is needed, and here is ${shown(here)}${advice(here)}`);
  }
}

/** What was probably meant. */
function advice(here: string): string {
  if (here === "'" || here === '`' || here === '“' || here === '”') return ': text stands in double quotes';
  if (here === '/' || here === '#') return ': JSON has no comments';
  if (/^(NaN|Infinity)$/.test(here)) return ': JSON has no such number';
  if (/^(undefined|None|nil|NULL|Null)$/.test(here)) return ': write null for nothing';
  if (/^(True|False|TRUE|FALSE)$/.test(here)) return `: write ${here.toLowerCase()}`;
  if (/^[+.]$/.test(here)) return ': a number begins with a digit or a minus';
  return '';
}

/** A text in a message: not too long, and visible. */
function shown(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}

/** A control character as JSON writes it. */
function escaped(code: number): string {
  return JSON.stringify(String.fromCharCode(code)).slice(1, -1);
}

/** Sets what an assignment would not: the name is that of a setter. */
function define(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true });
}
