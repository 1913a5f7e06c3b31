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
    'Looks at DIR (default: the working directory) and at the store. What is not as good as it can be is marked with --;',
    'it says what follows.',
  ],
  examples: ['turnback doctor', 'turnback doctor ~/project --json'],
  async run({ args: [directory = '.'] }, { store, output }) {
    const { storePath } = await store();
    const findings = await probe(directory, storePath);
    output.answer(
      { storePath, findings },
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
