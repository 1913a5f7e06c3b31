import { probe } from '../../probe.js';
import type { Command } from '../command.js';
import { EXIT } from '../exit.js';
import { printable, table } from '../text.js';

export const doctor: Command = {
  name: 'doctor',
  summary: 'say what this machine and these directories can do',
  args: ['[DIR]'],
  options: {},
  about: [
    'Looks at DIR (default: the working directory) and at the store. Exits with 1 when something is not as it should be.',
  ],
  examples: ['turnback doctor', 'turnback doctor ~/project --json'],
  async run({ args: [directory = '.'] }, { store, output }) {
    const { storePath } = await store();
    const findings = await probe(directory, storePath);
    const ok = findings.every((finding) => finding.ok);
    output.answer(
      { ok, storePath, findings },
      () =>
        table(
          ['', 'CHECK', 'FOUND'],
          findings.map((finding) => [finding.ok ? 'ok' : '!!', printable(finding.name), printable(finding.detail)]),
        ),
      () =>
        findings
          .filter((finding) => !finding.ok)
          .map((finding) => `${printable(finding.name)}: ${printable(finding.detail)}`),
    );
    return ok ? EXIT.done : EXIT.failed;
  },
};
