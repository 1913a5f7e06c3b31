// P3, P4: a scenario as text. Whatever is wrong with it, the message names line, column and field; whatever else it is, it is a scenario.
import { isTurnbackError } from 'turnback-policy';
import { checkScenario, type DroppedLine, parseScenario } from 'turnback-policy/simulate';
import { describe, expect, it } from 'vitest';

const BATCH = '{"sandbox":"s","turn":"t","startMs":1,"durationMs":2,"kind":"destructive"}';
const batch = JSON.parse(BATCH);
const lines = (...more: string[]) => ['{"version":1}', ...more].join('\n');

/** What a text is refused with. */
function refusal(text: string): { message: string; details: Readonly<Record<string, unknown>> } {
  try {
    parseScenario(text);
  } catch (error) {
    if (!isTurnbackError(error)) throw error;
    expect(error.code).toBe('INVALID_ARGUMENT');
    return error;
  }
  throw new Error('it was taken');
}

describe('what is a scenario', () => {
  it('one object', () => {
    const text = `\uFEFF{\r\n  "version": 1.0,\t"seed": -0, "name": "a\\u00e9\\n\\"b\\"/\\/", "batches": [${BATCH}]\r\n}\r\n`;
    expect(parseScenario(text)).toStrictEqual({ version: 1, seed: 0, name: 'aé\n"b"//', batches: [batch] });
  });

  it('JSON Lines, with batches in the first line or none, whatever ends a line', () => {
    for (const end of ['\n', '\r\n', '\r']) {
      for (const last of ['', end, `${end}${end}`]) {
        const text = [`{"version":1,"batches":[${BATCH}]}`, BATCH, '', `  ${BATCH} `].join(end) + last;
        expect(parseScenario(text)).toStrictEqual({ version: 1, batches: [batch, batch, batch] });
      }
    }
    expect(parseScenario(`{\n"version":1\n}\n${BATCH}`)).toStrictEqual({ version: 1, batches: [batch] });
  });

  it('with a last line that is cut off, anywhere: it is dropped, and said to be', () => {
    const last = BATCH.replace('1', '-1.5e+10').replace('"s"', '"\\u00e9\\n"').replace('"t"', 'null');
    for (let length = 1; length < last.length; length += 1) {
      const dropped: DroppedLine[] = [];
      const text = `${lines(BATCH)}\r\n${last.slice(0, length)}`;
      const scenario = parseScenario(text, { onDropped: (line) => void dropped.push(line) });
      expect(scenario).toStrictEqual({ version: 1, batches: [batch] });
      expect(dropped).toEqual([{ line: 3, text: last.slice(0, length) }]);
      expect(parseScenario(text)).toStrictEqual(scenario);
    }
    const never = () => {
      throw new Error('nothing was dropped');
    };
    expect(parseScenario(lines(BATCH), { onDropped: never }).batches).toHaveLength(1);
  });

  it('a hundred thousand batches', () => {
    const many = Array.from({ length: 100_000 }, (_, at) => BATCH.replace('"t"', `"turn ${at}"`));
    expect(parseScenario(lines(...many)).batches[99_999]?.turn).toBe('turn 99999');
    const { message } = refusal(lines(...many, BATCH.replace('1', '-1')));
    expect(message).toMatch(/^line 100002, column 37: batches\[100000\]\.startMs is -1: /);
  });
});

describe('what is wrong with it, and where', () => {
  const at = (replaced: string, by: string) => BATCH.replace(replaced, by);
  const wide = `{\n "version": 1,\n "driver": { "latency": { "kind": "samples", "ms": [1,\n 2, "x"] } },\n "batches": []\n}`;

  it.each([
    [
      'a field',
      lines(at(':1', ':-5')),
      2,
      37,
      'batches[0].startMs',
      'batches[0].startMs is -5: it has to be a whole number',
    ],
    ['a field in an object of many lines', wide, 4, 5, 'driver.latency.ms[2]', 'driver.latency.ms[2] is "x"'],
    [
      'a field that is missing: its object',
      lines(BATCH, ` ${at('"turn":"t",', '')}`),
      3,
      2,
      'batches[1].turn',
      'batches[1].turn is missing',
    ],
    [
      'a field that there is not',
      lines(at('"turn"', '"t.u[r]n":1,"turn"')),
      2,
      26,
      'batches[0].t.u[r]n',
      'batches[0].t.u[r]n is not known',
    ],
    ['behind a mark of byte order', '\uFEFF{"version":2}', 1, 12, 'version', 'version is 2'],
    ['a number that is too large', lines(at(':1', ':1e400')), 2, 37, 'batches[0].startMs', 'is Infinity'],
    [
      'a whole number that is not exact',
      lines(at(':1', ':9007199254740993')),
      2,
      37,
      'batches[0].startMs',
      'to 2^53 - 1',
    ],
    ['a setter’s name', '{"version":1,"__proto__":{"batches":[]}}', 1, 26, '__proto__', '__proto__ is not known'],
    ['no object', '\n[1]', 2, 1, '', 'the scenario is an array: it has to be an object'],
    ['batches that are none', '{"version":1,"batches":null}\n{}', 1, 24, 'batches', 'batches is null'],
    ['no scenario before the batches', `${BATCH}\n${BATCH}`, 1, 1, '', 'put the scenario itself before it'],
    ['nothing', ' \n\n', 3, 1, '', 'the text is empty'],
    [
      'a name that is given twice',
      lines(BATCH, at('"turn"', '"startMs":1,"turn"').replace('{', '{ ')),
      3,
      40,
      'batches[1].startMs',
      'given twice',
    ],
    ['a comma too much', lines(at('}', ',}')), 2, 75, 'batches[0]', 'a comma too much before }'],
    ['a comma too few', '{"version":1 "batches":[]}', 1, 14, '', 'a comma or } is needed, and here is "\\""'],
    ['a list with a comma too much', '{"version":1,"batches":[1,]}', 1, 27, 'batches', 'a comma too much before ]'],
    ['single quotes', "{'version':1}", 1, 2, '', 'text stands in double quotes'],
    ['a name without quotes', '{version:1}', 1, 2, '', 'a name in double quotes is needed, and here is "version"'],
    ['a comment', '{"version":1, // one\n"batches":[]}', 1, 15, '', 'JSON has no comments'],
    ['not a number', lines(at(':1', ':NaN')), 2, 37, 'batches[0].startMs', 'JSON has no such number'],
    ['nothing in another language', lines(at('"t"', 'None')), 2, 23, 'batches[0].turn', 'write null'],
    ['a number without a digit', lines(at(':1', ':.5')), 2, 37, 'batches[0].startMs', 'begins with a digit'],
    ['a number with a zero', lines(at(':1', ':01')), 2, 38, 'batches[0].startMs', 'does not begin with a zero'],
    [
      'a line break in a text',
      lines(at('"s"', '"s\n"')),
      2,
      14,
      'batches[0].sandbox',
      'the line ends in the middle of a value',
    ],
    ['a line break in a text of one object', '{"name":"a\nb"}', 1, 11, 'name', 'the line ends inside a text'],
    ['an escape that there is not', lines(at('"s"', '"\\x"')), 2, 13, 'batches[0].sandbox', '\\x stands for nothing'],
    ['half an escape', lines(at('"s"', '"\\u12"')), 2, 13, 'batches[0].sandbox', 'four hexadecimal digits'],
    [
      'a line that is cut off and not the last',
      lines(BATCH.slice(0, -9), BATCH),
      2,
      66,
      'batches[0].kind',
      'the line ends in the middle',
    ],
    ['an object that is cut off', '{"version":1,\n"batches":[{\n', 3, 1, 'batches[0]', 'the text ends in the middle'],
    ['two batches on a line', lines(`${BATCH} ${BATCH}`), 2, 76, '', 'each batch has a line of its own'],
    ['more behind the object', '{"version":1,"batches":[]};', 1, 27, '', 'more follows on its line'],
    [
      'a depth that would end the stack',
      `{"version":${'['.repeat(1_000_000)}`,
      1,
      75,
      expect.anything(),
      'nested deeper than 64',
    ],
  ])('%s', (_, text, line, column, path, says) => {
    const { message, details } = refusal(text);
    expect({ message, details }).toEqual({
      message: expect.stringContaining(says),
      details: expect.objectContaining({ line, column, path }),
    });
    expect(message).toMatch(new RegExp(`^line ${line}, column ${column}: `));
    expect(message.length).toBeLessThan(400);
  });

  it('an argument that is no text', () => {
    for (const wrong of [undefined, null, 7, {}]) {
      expect(() => parseScenario(wrong as never)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    }
  });
});

/** Numbers from 0 to 1, the same for the same seed. */
function luck(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const FULL = JSON.stringify({
  version: 1,
  name: 'näme',
  seed: 7,
  driver: { latency: { kind: 'quantiles', p50Ms: 1, p90Ms: 2, p99Ms: 3, maxMs: 4 }, failureRate: 0.25, recorded: true },
  policies: [
    { kind: 'per_turn', retention: { keepLast: 3 } },
    { kind: 'interval', intervalMs: 60_000 },
  ],
  batches: [{ ...batch, tool: 'Bash', attempt: { ms: 3, outcome: 'stalled' } }],
});
const WHOLE = [
  FULL,
  JSON.stringify(JSON.parse(FULL), null, 1),
  lines(BATCH, BATCH),
  `${FULL}\r\n${BATCH}\r\n${BATCH}\r\n`,
];
const PIECES = [
  '"',
  '\\',
  '\n',
  '\r\n',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '-',
  '0',
  '1e999',
  '.',
  '\\u',
  '\\ud800',
  'null',
  'true',
  'NaN',
  '"version":1,',
  '"__proto__":{},',
  '"constructor":1,',
  '{"version":1}',
  BATCH,
  '\uFEFF',
  '\0',
  '\u2028',
  '\ud800',
  ' ',
  '//',
  "'",
  '[[[[[',
  '{"a":',
];

function mutated(text: string, random: () => number): string {
  const place = () => Math.floor(random() * (text.length + 1));
  const [from, to] = [place(), place()].sort((one, other) => one - other) as [number, number];
  const piece = PIECES[Math.floor(random() * PIECES.length)] ?? '';
  switch (Math.floor(random() * 6)) {
    case 0:
      return text.slice(0, from) + text.slice(from + 1);
    case 1:
      return text.slice(0, from) + piece + text.slice(from);
    case 2:
      return text.slice(0, from) + piece + text.slice(from + piece.length);
    case 3:
      return text.slice(0, from);
    case 4:
      return text.slice(0, to) + text.slice(from, to) + text.slice(to);
    default:
      return text.slice(0, from) + text.slice(Math.min(to, from + 10));
  }
}

/** What `JSON.parse` makes of it, line by line where it is no single value; `undefined` when it is neither. */
function reference(text: string): unknown[] | undefined {
  try {
    return [JSON.parse(text)];
  } catch {
    // It may be JSON Lines.
  }
  const all = text.split(/\r\n|\n|\r/);
  for (let head = 1; head <= all.length; head += 1) {
    try {
      const first = JSON.parse(all.slice(0, head).join('\n'));
      const rest = all.slice(head).filter((line) => line.trim() !== '');
      return [first, ...rest.map((line, at) => (at === rest.length - 1 ? lastLine(line) : JSON.parse(line)))];
    } catch {
      // The first value may go on for some lines.
    }
  }
  return undefined;
}

function lastLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return CUT_OFF;
  }
}
const CUT_OFF = Symbol('cut off');

describe('any text', () => {
  it('is a scenario that holds, the one that JSON.parse sees, or is refused with a place', () => {
    const seed = Math.floor(Math.random() * 2 ** 32);
    const random = luck(seed);
    const counts = { taken: 0, dropped: 0, refused: 0 };
    for (let round = 0; round < 20_000; round += 1) {
      let text = WHOLE[round % WHOLE.length] ?? '';
      for (let times = 1 + Math.floor(random() * 3); times > 0; times -= 1) text = mutated(text, random);
      const about = `seed ${seed}, round ${round}: ${JSON.stringify(text)}`;
      let dropped = false;
      try {
        const scenario = parseScenario(text, {
          onDropped: () => {
            dropped = true;
          },
        });
        expect(checkScenario(scenario), about).toBe(scenario);
        const [head, ...more] = (reference(text.replace(/^\uFEFF/, '')) ?? []) as [
          { batches?: unknown[] },
          ...unknown[],
        ];
        if (dropped) expect(more.pop(), about).toBe(CUT_OFF);
        expect(scenario, about).toEqual({ ...head, batches: [...(head.batches ?? []), ...more] });
        counts[dropped ? 'dropped' : 'taken'] += 1;
      } catch (error) {
        if (!isTurnbackError(error)) throw new Error(about, { cause: error });
        const { line, column } = error.details as { line: number; column: number };
        expect(error.message.startsWith(`line ${line}, column ${column}: `), about).toBe(true);
        const own = text.split(/\r\n|\n|\r/)[line - 1];
        expect(column >= 1 && column <= (own?.length ?? -1) + 1, about).toBe(true);
        counts.refused += 1;
      }
    }
    // It was not always the same.
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(50);
  });
});
