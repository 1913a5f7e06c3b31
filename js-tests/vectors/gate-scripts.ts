// Reads the gate's scripts and replays them on whatever gate; README.md has the format.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { thrownBy } from '../wasm/vectors.js';

/** What every build's gate can do. */
export interface ScriptedGate {
  handle(input: string, nowMs: number): string;
  passCovered(sandboxId: string, turnId: string, nowMs: number): string | null | undefined;
}

export interface ScriptOptions {
  timeoutMs?: number;
  prefix?: string;
}

interface Step {
  at: number;
  in: Record<string, unknown>;
  out?: Record<string, unknown>[];
  refused?: { code: string; message: string };
}

interface Script {
  about: string;
  cites: string[];
  options?: ScriptOptions;
  steps: Step[];
}

const FOLDER = new URL('./gate/', import.meta.url);

export function scripts(): [string, Script][] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  return names.sort().map((name) => [name, JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'))]);
}

/** Declares the tests of a build's gate: each script byte for byte, and the short cut for covered batches beside it. */
export function replayScripts(open: (options: ScriptOptions) => ScriptedGate): void {
  const all = scripts();

  it('there are at least sixty scripts', () => {
    expect(all.length).toBeGreaterThanOrEqual(60);
  });

  it.each(all)('P5: %s', (_name, { options = {}, steps }) => {
    const gate = open(options);
    for (const step of steps) {
      const ask = () => gate.handle(JSON.stringify(step.in), step.at);
      if (step.refused === undefined) expect(ask(), step.at.toString()).toBe(JSON.stringify(step.out));
      else expect(thrownBy(ask)).toMatchObject(step.refused);
    }
  });

  it.each(all)('W8: %s with the short cut wherever it is open', (_name, { options = {}, steps }) => {
    const gate = open(options);
    for (const { at, in: input, out, refused } of steps) {
      const short = isPlain(input) ? gate.passCovered(input.sandboxId, input.turnId, at) : undefined;
      if (typeof short === 'string') {
        expect([coveredVerdict(short, input.batch)], at.toString()).toEqual(out?.slice(0, 1));
      } else if (refused === undefined) {
        expect(gate.handle(JSON.stringify(input), at), at.toString()).toBe(JSON.stringify(out));
        if (out?.length === 2 && out[0]?.outcome === 'already_covered') throw new Error('the short cut was not taken');
      }
    }
  });
}

/** A batch that nothing speaks against a checkpoint for: the short cut's precondition. */
function isPlain(input: Record<string, unknown>): input is { sandboxId: string; turnId: string; batch: number } {
  return input.type === 'batch' && Object.keys(input).sort().join() === 'batch,sandboxId,turnId,type';
}

function coveredVerdict(short: string, batch: unknown): Record<string, unknown> {
  const flags = Number(short[0]);
  const checkpointId = short.slice(1);
  return {
    type: 'verdict',
    batch,
    outcome: 'already_covered',
    protected: true,
    late: (flags & 1) !== 0,
    partial: (flags & 2) !== 0,
    reason: 'same_turn',
    ...(checkpointId === '' ? {} : { checkpointId }),
    durationMs: 0,
  };
}

/** What no gate takes, and what it says. */
export function refusesNonsense(open: (options: ScriptOptions) => ScriptedGate): void {
  describe('what is no input is refused, and changes nothing', () => {
    it.each([
      ['', 'an object is needed at byte 0'],
      [
        '{"type":"nap"}',
        'its type is batch, created, failed, paused, cancelled, released, forgotten, deleted, options or tick, not "nap"',
      ],
      ['{"type":"batch","batch":1}', 'the field "sandboxId" is missing'],
      ['{"type":"batch","batch":1,"sandboxId":"s","turnId":""}', 'a turn id cannot be empty'],
      [JSON.stringify({ type: 'forgotten', sandboxId: 'a\ud800' }), 'half a surrogate pair'],
    ])('%s', (input, message) => {
      const gate = open({});
      const error = thrownBy(() => gate.handle(input, 0));
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
      expect((error as Error).message).toContain(message);
      expect(gate.handle('{"type":"tick"}', 0)).toBe('[{"type":"idle"}]');
    });
    it.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('the time %s', (now) => {
      const gate = open({});
      expect(thrownBy(() => gate.handle('{"type":"tick"}', now))).toMatchObject({ code: 'INVALID_ARGUMENT' });
      expect(gate.passCovered('s', 't', now) ?? undefined).toBeUndefined();
    });
    it('the prefix "two words"', () => {
      expect(thrownBy(() => open({ prefix: 'two words' }))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    });
    it('ids that are none are not covered', () => {
      expect(open({}).passCovered('', 't', 0) ?? undefined).toBeUndefined();
      expect(open({}).passCovered('s', 'x'.repeat(201), 0) ?? undefined).toBeUndefined();
    });
  });
}
