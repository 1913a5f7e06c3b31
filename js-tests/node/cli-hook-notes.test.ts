// G5, G6: what a hook cannot note costs a checkpoint too many, and never one too few; what it cannot know it does not claim.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { begun, call, prepared } from './hook.js';
import { turnback } from './support.js';

const WARNING = /^turnback: warning: what was done in this prompt cannot be noted: [^\n]*\n$/;

/** Places where no note can be: below a file, and where the kernel takes none. */
const PLACES: [string, (home: string) => string][] = [
  ['below a file', (home) => join(home, 'file')],
  ['in /proc', () => '/proc/none'],
];

describe.each(PLACES)('notes that would be %s', (_, place) => {
  function without() {
    const made = prepared();
    writeFileSync(join(made.home, 'file'), '');
    const more = { XDG_STATE_HOME: place(made.home) };
    const hook = (over: object = {}, flag: Record<string, string> = {}) =>
      made.start(call(made.workspace, over), ['--json', '--block', '--limit', '100s'], { more: { ...more, ...flag } })
        .over;
    return { ...made, hook };
  }

  it('each call gets a checkpoint, which is called late, and none is blocked', async () => {
    const { hook, checkpoints } = without();
    for (let n = 0; n < 4; n += 1) {
      const { code, stdout, stderr } = await hook();
      expect({ code, ...JSON.parse(stdout) }).toMatchObject({
        code: 0,
        outcome: 'created',
        protected: true,
        late: true,
      });
      expect(stderr).toMatch(WARNING);
    }
    expect(checkpoints()).toHaveLength(4);
    expect(checkpoints()[0].metadata).toMatchObject({ late: 'true' });
  });

  it('with the flag off and while the store is paused none is blocked either (G3, C17)', async () => {
    const { hook, env } = without();
    const off = await hook({}, { SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH: 'false' });
    expect({ code: off.code, ...JSON.parse(off.stdout) }).toMatchObject({ code: 0, reason: 'flag_off' });
    expect(turnback(['pause'], { env }).code).toBe(0);
    const paused = await hook();
    expect({ code: paused.code, ...JSON.parse(paused.stdout) }).toMatchObject({ code: 0, reason: 'paused' });
  });
});

describe('a checkpoint that can no longer be noted when it is made', () => {
  it('protects its call; its attempt is not held against the prompt', async () => {
    const { workspace, worker, note, go, told } = await begun();
    mkdirSync(`${note}.${worker}`);
    const { code, stdout, stderr } = await go();
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, outcome: 'created', late: false });
    expect(stderr).toMatch(WARNING);
    expect(readFileSync(note, 'utf8')).toBe('');
    const next = await told(call(workspace));
    expect(next).toMatchObject({ outcome: 'created', late: true });
    expect(await told(call(workspace))).toMatchObject({ outcome: 'already_covered', checkpointId: next.checkpointId });
  });

  it('also where the place itself is gone', async () => {
    const { note, notes, go } = await begun();
    rmSync(notes, { recursive: true });
    writeFileSync(notes, '');
    const { code, stdout, stderr } = await go();
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, outcome: 'created', protected: true });
    expect(stderr).toMatch(WARNING);
    expect(existsSync(note)).toBe(false);
  });
});
