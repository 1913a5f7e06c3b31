// P3: the JSON Schema that the package ships and the check that it makes say the same of every scenario here.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { checkScenario } from 'turnback-policy/simulate';
import { describe, expect, it } from 'vitest';
import { thrownBy } from './vectors.js';

const schemaFile = fileURLToPath(import.meta.resolve('turnback-policy/scenario-1.schema.json'));
// Strict: a keyword that is misspelt in the schema is an error here. `type` may be a list.
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false });
const allows = ajv.compile(JSON.parse(readFileSync(schemaFile, 'utf8')));

const batch = { sandbox: 's', turn: 't', startMs: 0, durationMs: 1, kind: 'destructive' };
const of = (more: object) => ({ version: 1, batches: [batch], ...more });
const withBatch = (more: object) => of({ batches: [batch, { ...batch, ...more }] });
const withDriver = (driver: object) => of({ driver });
const withLatency = (latency: unknown) => withDriver({ latency });
const withPolicy = (policy: unknown) => of({ policies: [{ kind: 'never' }, policy] });
const without = (key: string) => Object.fromEntries(Object.entries(batch).filter(([name]) => name !== key));

const GOOD: [string, unknown][] = [
  ['nothing but a version', { version: 1, batches: [] }],
  ['a batch', of({})],
  ['texts', of({ name: '', description: 'd' })],
  ['the largest seed', of({ seed: 2 ** 32 - 1 })],
  ['an empty driver', withDriver({})],
  ['a driver', withDriver({ failureRate: 1, stallRate: 0.5, recorded: false })],
  ['fixed', withLatency({ kind: 'fixed', ms: 0 })],
  ['uniform', withLatency({ kind: 'uniform', minMs: 1, maxMs: 1 })],
  ['quantiles', withLatency({ kind: 'quantiles', p50Ms: 1, p90Ms: 2, p99Ms: 3, maxMs: 4 })],
  ['quantiles from a minimum', withLatency({ kind: 'quantiles', minMs: 1, p50Ms: 1, p90Ms: 2, p99Ms: 3, maxMs: 4 })],
  ['samples', withLatency({ kind: 'samples', ms: [5, 0] })],
  ['a batch without a turn', withBatch({ turn: null })],
  ['the latest batch', withBatch({ startMs: 2 ** 53 - 1, durationMs: 2 ** 53 - 1 })],
  ['a tool', withBatch({ tool: '' })],
  ['an attempt', withBatch({ attempt: { ms: 0, outcome: 'stalled' }, kind: 'read_only' })],
  ['a whole number with a point', JSON.parse('{"version":1.0,"batches":[],"seed":1e3}')],
  ['a policy', withPolicy({ kind: 'per_turn', name: '', when: 'unless_read_only', timeoutMs: 1, onFailure: 'block' })],
  ['an interval', withPolicy({ kind: 'interval', intervalMs: 0 })],
  ['retention', withPolicy({ kind: 'every_batch', retention: { keepLast: 0, keepWithinMs: 0 } })],
  ['mistakes', of({ policies: [{ kind: 'last_turn_only' }, { kind: 'shared_across_turns' }] })],
];

/** What is wrong, where, and what the check says of it. */
const BAD: [string, unknown, path: string, message: RegExp][] = [
  ['null', null, '', /^the scenario is null: it has to be an object$/],
  ['an array', [], '', /^the scenario is an array/],
  ['a text', '{}', '', /^the scenario is "\{\}"/],
  ['another version', { version: 2, batches: [] }, 'version', /^version is 2: it has to be 1$/],
  ['no version', { batches: [] }, 'version', /^version is missing: it has to be 1$/],
  ['no batches', { version: 1 }, 'batches', /^batches is missing: it has to be an array$/],
  ['batches by name', { version: 1, batches: { 0: batch } }, 'batches', /is of type object/],
  [
    'an unknown field',
    of({ polices: [] }),
    'polices',
    /^polices is not known: a scenario takes version, batches, name/,
  ],
  ['a name that is no text', of({ name: 1 }), 'name', /^name is 1: it has to be a text$/],
  ['a seed below 0', of({ seed: -1 }), 'seed', /a whole number from 0 to 4294967295/],
  ['a seed too large', of({ seed: 2 ** 32 }), 'seed', /^seed is 4294967296/],
  ['a seed with a fraction', of({ seed: 0.5 }), 'seed', /^seed is 0.5/],
  ['a driver that is null', of({ driver: null }), 'driver', /^driver is null: it has to be an object$/],
  ['an unknown field of the driver', withDriver({ seed: 1 }), 'driver.seed', /^driver.seed is not known: driver takes/],
  ['a rate over 1', withDriver({ failureRate: 1.01 }), 'driver.failureRate', /a number from 0 to 1$/],
  ['a rate as text', withDriver({ stallRate: '0' }), 'driver.stallRate', /^driver.stallRate is "0"/],
  ['recorded: 1', withDriver({ recorded: 1 }), 'driver.recorded', /true or false$/],
  ['a latency that is a number', withLatency(50), 'driver.latency', /^driver.latency is 50: it has to be an object$/],
  [
    'a latency without a kind',
    withLatency({ ms: 1 }),
    'driver.latency.kind',
    /"fixed" or "uniform" or "quantiles" or "samples"/,
  ],
  ['an unknown latency', withLatency({ kind: 'normal' }), 'driver.latency.kind', /^driver.latency.kind is "normal"/],
  [
    "another latency's field",
    withLatency({ kind: 'fixed', ms: 1, minMs: 0 }),
    'driver.latency.minMs',
    /takes kind, ms$/,
  ],
  ['half of a range', withLatency({ kind: 'uniform', minMs: 0 }), 'driver.latency.maxMs', /is missing/],
  [
    'a fraction',
    withLatency({ kind: 'fixed', ms: 0.5 }),
    'driver.latency.ms',
    /a whole number of milliseconds from 0 to 2\^53 - 1$/,
  ],
  [
    'no samples',
    withLatency({ kind: 'samples', ms: [] }),
    'driver.latency.ms',
    /has 0 entries: it has to have 1 to 100000$/,
  ],
  [
    'a sample',
    withLatency({ kind: 'samples', ms: [1, '2'] }),
    'driver.latency.ms[1]',
    /^driver.latency.ms\[1\] is "2"/,
  ],
  ['no policies', of({ policies: [] }), 'policies', /has 0 entries: it has to have 1 to 100$/],
  ['too many policies', of({ policies: Array(101).fill({ kind: 'never' }) }), 'policies', /has 101 entries/],
  ['a policy that is a text', withPolicy('per_turn'), 'policies[1]', /^policies\[1\] is "per_turn"/],
  ['a policy without a kind', withPolicy({}), 'policies[1].kind', /is missing: it has to be "per_turn" or /],
  ['an unknown policy', withPolicy({ kind: 'sometimes' }), 'policies[1].kind', /is "sometimes"/],
  ['an unknown field of a policy', withPolicy({ kind: 'never', limit: 1 }), 'policies[1].limit', /is not known/],
  ['an interval without its length', withPolicy({ kind: 'interval' }), 'policies[1].intervalMs', /is missing/],
  [
    'a length without an interval',
    withPolicy({ kind: 'never', intervalMs: 1 }),
    'policies[1].intervalMs',
    /for the kind interval only/,
  ],
  ['no time at all', withPolicy({ kind: 'never', timeoutMs: 0 }), 'policies[1].timeoutMs', /from 1 to 2147483647$/],
  ['too much time', withPolicy({ kind: 'never', timeoutMs: 2 ** 31 }), 'policies[1].timeoutMs', /is 2147483648/],
  ['a wrong word', withPolicy({ kind: 'never', when: 'never' }), 'policies[1].when', /"always" or "unless_read_only"/],
  ['another', withPolicy({ kind: 'never', onFailure: 'stop' }), 'policies[1].onFailure', /"proceed" or "block"/],
  [
    'an unknown retention',
    withPolicy({ kind: 'never', retention: { days: 7 } }),
    'policies[1].retention.days',
    /is not known/,
  ],
  [
    'a fraction of a checkpoint',
    withPolicy({ kind: 'never', retention: { keepLast: 1.5 } }),
    'policies[1].retention.keepLast',
    /is 1.5/,
  ],
  ['a batch that is null', of({ batches: [batch, null] }), 'batches[1]', /^batches\[1\] is null/],
  ...Object.keys(batch).map((key): [string, unknown, string, RegExp] => [
    `a batch without ${key}`,
    of({ batches: [without(key)] }),
    `batches[0].${key}`,
    /is missing: it has to be /,
  ]),
  [
    'an unknown field of a batch',
    withBatch({ endMs: 2 }),
    'batches[1].endMs',
    /is not known: batches\[1\] takes sandbox, turn/,
  ],
  [
    'an empty sandbox',
    withBatch({ sandbox: '' }),
    'batches[1].sandbox',
    /is "": it has to be a text that is not empty$/,
  ],
  ['an empty turn', withBatch({ turn: '' }), 'batches[1].turn', /or null where nobody knows the turn$/],
  ['a start before the beginning', withBatch({ startMs: -1 }), 'batches[1].startMs', /^batches\[1\].startMs is -1/],
  ['a start beyond all numbers', withBatch({ startMs: 2 ** 53 }), 'batches[1].startMs', /is 9007199254740992/],
  ['a duration with a fraction', withBatch({ durationMs: 1.5 }), 'batches[1].durationMs', /is 1.5/],
  ['a wrong kind', withBatch({ kind: 'write' }), 'batches[1].kind', /"read_only" or "destructive"/],
  ['a tool that is no text', withBatch({ tool: 1 }), 'batches[1].tool', /is 1: it has to be a text$/],
  ['an attempt without an end', withBatch({ attempt: { ms: 1 } }), 'batches[1].attempt.outcome', /is missing/],
  ['an unknown end', withBatch({ attempt: { ms: 1, outcome: 'late' } }), 'batches[1].attempt.outcome', /is "late"/],
];

/** What the schema cannot say; its description does. */
const UNSAID: [string, unknown, path: string, message: RegExp][] = [
  [
    'a range upside down',
    withLatency({ kind: 'uniform', minMs: 2, maxMs: 1 }),
    'driver.latency.maxMs',
    /is 1, below minMs, which is 2$/,
  ],
  [
    'quantiles that fall',
    withLatency({ kind: 'quantiles', p50Ms: 5, p90Ms: 4, p99Ms: 6, maxMs: 7 }),
    'driver.latency.p90Ms',
    /is 4, below p50Ms, which is 5$/,
  ],
];

describe('scenarios', () => {
  it.each(GOOD)('good: %s', (_what, scenario) => {
    expect(checkScenario(scenario)).toBe(scenario);
    expect(allows(scenario), JSON.stringify(allows.errors)).toBe(true);
  });
  it.each([...BAD, ...UNSAID])('bad: %s', (_what, scenario, path, message) => {
    expect(thrownBy(() => checkScenario(scenario))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      details: { path },
      message: expect.stringMatching(message),
    });
  });
  it.each(BAD)('the schema refuses it too: %s', (_what, scenario) => {
    expect(allows(scenario)).toBe(false);
  });
  it.each(UNSAID)('the schema cannot say it: %s', (_what, scenario) => {
    expect(allows(scenario)).toBe(true);
  });
});

it('the vectors are scenarios by the schema', () => {
  const folder = new URL('../vectors/simulate/', import.meta.url);
  for (const file of readdirSync(folder)) {
    const { scenario } = JSON.parse(readFileSync(new URL(file, folder), 'utf8'));
    expect(allows(scenario), `${file}: ${JSON.stringify(allows.errors)}`).toBe(true);
  }
});
