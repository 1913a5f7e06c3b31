import { failure, isTurnbackError, type TurnbackError } from '../error.js';
import type { Scenario } from './scenario.js';

/** The longest time limit that a guard takes. */
const MAX_LIMIT_MS = 2 ** 31 - 1;
const MAX_SEED = 2 ** 32 - 1;
const MOST_BATCHES = 1_000_000;
const MOST_POLICIES = 100;
const MOST_SAMPLES = 100_000;

/**
 * Where something stands: in what, and under which name or number. Only when it is wrong is this made a text, because a million of those
 * would take longer than all the rest.
 */
interface Place {
  readonly up: Place | undefined;
  readonly key: string | number;
}

/** The whole. */
const WHOLE: Place = { up: undefined, key: '' };

/** For instance `batches[3].startMs`. */
function pathOf({ up, key }: Place): string {
  if (up === undefined) return '';
  const before = pathOf(up);
  if (typeof key === 'number') return `${before}[${key}]`;
  return before === '' ? key : `${before}.${key}`;
}

/** Checks a value that stands in `up` under `key`, and throws if it is not what it should be. */
type Check = (value: unknown, up: Place, key: string | number) => void;

/** What an object may have, and which of it it must have. */
interface Shape {
  readonly required: Readonly<Record<string, Check>>;
  readonly optional: Readonly<Record<string, Check>>;
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : `of type ${typeof value}`;
}

function refused(up: Place, key: string | number, what: string): TurnbackError {
  const path = pathOf(key === '' ? up : { up, key });
  return failure('INVALID_ARGUMENT', `${path === '' ? 'the scenario' : path} ${what}`, {
    details: { argument: 'scenario', path },
  });
}

function needed(value: unknown, up: Place, key: string | number, what: string): TurnbackError {
  const is = value === undefined ? 'is missing' : `is ${shown(value)}`;
  return refused(up, key, `${is}: it has to be ${what}`);
}

const whole =
  (least: number, most: number, unit: string): Check =>
  (value, up, key) => {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
      const bound = most === Number.MAX_SAFE_INTEGER ? '2^53 - 1' : most;
      throw needed(value, up, key, `a whole number${unit} from ${least} to ${bound}`);
    }
  };

const millis = whole(0, Number.MAX_SAFE_INTEGER, ' of milliseconds');

const share: Check = (value, up, key) => {
  if (typeof value !== 'number' || !(value >= 0 && value <= 1)) throw needed(value, up, key, 'a number from 0 to 1');
};

const text: Check = (value, up, key) => {
  if (typeof value !== 'string') throw needed(value, up, key, 'a text');
};

const name: Check = (value, up, key) => {
  if (typeof value !== 'string' || value === '') throw needed(value, up, key, 'a text that is not empty');
};

const flag: Check = (value, up, key) => {
  if (typeof value !== 'boolean') throw needed(value, up, key, 'true or false');
};

const oneOf =
  (...words: readonly unknown[]): Check =>
  (value, up, key) => {
    if (!words.includes(value)) throw needed(value, up, key, words.map((word) => JSON.stringify(word)).join(' or '));
  };

const list =
  (least: number, most: number, each: Check): Check =>
  (value, up, key) => {
    if (!Array.isArray(value)) throw needed(value, up, key, 'an array');
    if (value.length < least || value.length > most) {
      throw refused(up, key, `has ${value.length} entries: it has to have ${least} to ${most}`);
    }
    const place = { up, key };
    for (let at = 0; at < value.length; at++) each(value[at], place, at);
  };

const object = ({ required, optional }: Shape): Check => {
  const known = new Set([...Object.keys(required), ...Object.keys(optional)]);
  const needs = Object.entries(required);
  const takes = Object.entries(optional);
  return (value, up, key) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw needed(value, up, key, 'an object');
    const given = value as Record<string, unknown>;
    const place = key === '' ? up : { up, key };
    for (const name in given) {
      if (!known.has(name) && Object.hasOwn(given, name)) {
        const whole = pathOf(place);
        throw refused(
          place,
          name,
          `is not known: ${whole === '' ? 'a scenario' : whole} takes ${[...known].join(', ')}`,
        );
      }
    }
    for (const [name, check] of needs) check(given[name], place, name);
    for (const [name, check] of takes) {
      const one = given[name];
      if (one !== undefined) check(one, place, name);
    }
  };
};

/** Further than the schema can say: bounds in their order. */
const rising = (shape: Shape, ...keys: string[]): Check => {
  const check = object(shape);
  return (value, up, key) => {
    check(value, up, key);
    const bounds = value as Record<string, number | undefined>;
    let last = keys[0] as string;
    for (const next of keys.slice(1)) {
      if ((bounds[next] ?? 0) < (bounds[last] ?? 0)) {
        throw refused({ up, key }, next, `is ${bounds[next]}, below ${last}, which is ${bounds[last]}`);
      }
      last = next;
    }
  };
};

const kind = text;

const LATENCIES: Readonly<Record<string, Check>> = {
  fixed: object({ required: { kind, ms: millis }, optional: {} }),
  uniform: rising({ required: { kind, minMs: millis, maxMs: millis }, optional: {} }, 'minMs', 'maxMs'),
  quantiles: rising(
    { required: { kind, p50Ms: millis, p90Ms: millis, p99Ms: millis, maxMs: millis }, optional: { minMs: millis } },
    'minMs',
    'p50Ms',
    'p90Ms',
    'p99Ms',
    'maxMs',
  ),
  samples: object({ required: { kind, ms: list(1, MOST_SAMPLES, millis) }, optional: {} }),
};

const latency: Check = (value, up, key) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw needed(value, up, key, 'an object');
  const { kind } = value as { kind?: unknown };
  oneOf(...Object.keys(LATENCIES))(kind, { up, key }, 'kind');
  LATENCIES[kind as string]?.(value, up, key);
};

const driver = object({
  required: {},
  optional: { latency, failureRate: share, stallRate: share, recorded: flag },
});

const POLICY = object({
  required: {
    kind: oneOf('per_turn', 'every_batch', 'interval', 'last_turn_only', 'shared_across_turns', 'never'),
  },
  optional: {
    name: text,
    when: oneOf('always', 'unless_read_only'),
    timeoutMs: whole(1, MAX_LIMIT_MS, ' of milliseconds'),
    onFailure: oneOf('proceed', 'block'),
    intervalMs: millis,
    retention: object({ required: {}, optional: { keepLast: whole(0, MAX_SEED, ''), keepWithinMs: millis } }),
  },
});

const policy: Check = (value, up, key) => {
  POLICY(value, up, key);
  const { kind, intervalMs } = value as { kind: string; intervalMs?: unknown };
  if (kind === 'interval') millis(intervalMs, { up, key }, 'intervalMs');
  else if (intervalMs !== undefined)
    throw refused({ up, key }, 'intervalMs', 'is for the kind interval only: leave it out');
};

const checkedBatch = object({
  required: {
    sandbox: name,
    turn: (value, up, key) => {
      if (value !== null && (typeof value !== 'string' || value === '')) {
        throw needed(value, up, key, 'a text that is not empty, or null where nobody knows the turn');
      }
    },
    startMs: millis,
    durationMs: millis,
    kind: oneOf('read_only', 'destructive'),
  },
  optional: {
    tool: text,
    attempt: object({ required: { ms: millis, outcome: oneOf('succeeded', 'failed', 'stalled') }, optional: {} }),
  },
});

const isMillis = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= Number.MAX_SAFE_INTEGER;

/** Whether it certainly is a batch. Nearly all are, and to look at each field by name takes four times as long (W11). */
function isPlainBatch(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  for (const key in value) {
    switch (key) {
      case 'sandbox':
      case 'turn':
      case 'startMs':
      case 'durationMs':
      case 'kind':
      case 'tool':
        break;
      default:
        return false;
    }
  }
  const { sandbox, turn, startMs, durationMs, kind, tool, attempt } = value as Record<string, unknown>;
  return (
    typeof sandbox === 'string' &&
    sandbox !== '' &&
    (turn === null || (typeof turn === 'string' && turn !== '')) &&
    isMillis(startMs) &&
    isMillis(durationMs) &&
    (kind === 'destructive' || kind === 'read_only') &&
    (tool === undefined || typeof tool === 'string') &&
    attempt === undefined
  );
}

const batch: Check = (value, up, key) => {
  if (!isPlainBatch(value)) checkedBatch(value, up, key);
};

const scenario = object({
  required: { version: oneOf(1), batches: list(0, MOST_BATCHES, batch) },
  optional: {
    name: text,
    description: text,
    seed: whole(0, MAX_SEED, ''),
    driver,
    policies: list(1, MOST_POLICIES, policy),
  },
});

/**
 * `value`, if it is a scenario: types, ranges, no field that the format does not have.
 *
 * @throws TurnbackError `INVALID_ARGUMENT`; `details.path` says where, for instance `batches[3].startMs`, or nothing for the whole
 */
export function checkScenario(value: unknown): Scenario {
  try {
    scenario(value, WHOLE, '');
  } catch (cause) {
    if (isTurnbackError(cause)) throw cause;
    throw failure('INVALID_ARGUMENT', 'the scenario cannot be read: pass a plain object', {
      details: { argument: 'scenario', path: '' },
      cause,
    });
  }
  return value as Scenario;
}
