import type { CheckpointManager } from '../../manager.js';
import { probe, sandboxMechanisms } from '../../probe.js';
import type { Command } from '../command.js';
import { EXIT } from '../exit.js';
import { notePending, pendingText } from '../pending.js';
import { count, printable, share, size, table } from '../text.js';

interface Finding {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** From here on a store counts as nearly full. */
const NEARLY_FULL = 0.9;

/** How full the store is. What cannot be told is told. */
async function fill(manager: CheckpointManager): Promise<Finding> {
  const name = 'store cap';
  try {
    const { storeBytes, maxBytes } = await manager.usage();
    const ok = storeBytes < NEARLY_FULL * maxBytes;
    const next = ok ? '' : '; soon the oldest automatic checkpoints go, see `turnback prune`';
    return {
      name,
      ok,
      detail: `${size(storeBytes)} of at most ${size(maxBytes)} (${share(storeBytes, maxBytes)})${next}`,
    };
  } catch (error) {
    return { name, ok: false, detail: error instanceof Error ? error.message : String(error) };
  }
}

export const doctor: Command = {
  name: 'doctor',
  summary: 'say what this machine and these directories can do',
  args: ['[DIR]'],
  options: {},
  about: [
    'Looks at DIR (default: the working directory) and at the store. What is not as good as it can be is marked with --;',
    'it says what follows. How sandboxes of DIR would be made, and why not better, is found out by trying.',
  ],
  examples: ['turnback doctor', 'turnback doctor ~/project --json'],
  async run({ args: [directory = '.'] }, { store, output }) {
    const manager = await store();
    const { storePath } = manager;
    const pending = await notePending(manager, output);
    const damaged = await manager.listDamaged();
    const findings: Finding[] = [
      ...(await probe(directory, storePath)),
      await fill(manager),
      {
        name: 'damaged checkpoints',
        ok: damaged.length === 0,
        detail:
          damaged.length === 0
            ? 'none by their records'
            : `${count(damaged.length, 'record')}: see \`turnback verify\``,
      },
      {
        name: 'interrupted work',
        ok: pending.length === 0,
        detail: pending.length === 0 ? 'none' : pending.map(pendingText).join('; '),
      },
    ];
    // Where there is no place for sandboxes, the finding on them says why.
    const mechanisms = await sandboxMechanisms(directory, storePath).catch(() => []);
    output.answer(
      { storePath, findings, sandboxMechanisms: mechanisms, pending, damaged },
      () =>
        table(
          ['', 'CHECK', 'FOUND'],
          findings.map((finding) => [finding.ok ? 'ok' : '--', printable(finding.name), printable(finding.detail)]),
        ),
      () =>
        findings
          .filter((finding) => !finding.ok)
          .map((finding) => `${printable(finding.name)}: ${printable(finding.detail)}`),
    );
    return EXIT.done;
  },
};
