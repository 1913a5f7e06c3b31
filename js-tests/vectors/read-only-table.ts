// G14, P5: the commands of read-only.json, judged by hand, on whatever package.
import { describe, expect, it } from 'vitest';
import { thrownBy, vectors } from '../wasm/vectors.js';

interface Table {
  readOnly: string[];
  destructive: { command: string; why: string }[];
}

type Judgement = { readonly readOnly: true } | { readonly readOnly: false; readonly why: string };

/** What every package exports. */
export interface ReadOnlyProof {
  judgeCommand(command: string): Judgement;
  isReadOnly(command: string): boolean;
}

/** Declares the tests of a package. */
export function replayReadOnly(name: string, proof: ReadOnlyProof): void {
  describe(`G14: the proof that a command only reads, in ${name}`, () => {
    it('judges each command as by hand', () => {
      const { readOnly, destructive } = vectors<Table>('read-only.json');
      expect(readOnly.length).toBeGreaterThanOrEqual(300);
      expect(destructive.length).toBeGreaterThanOrEqual(200);
      const doubted = readOnly.filter((command) => !proof.isReadOnly(command));
      const trusted = destructive.filter(({ command }) => proof.isReadOnly(command)).map(({ command }) => command);
      // For whoever asks how good the table is.
      console.log(
        `${name}: ${readOnly.length - doubted.length} of ${readOnly.length} commands that only read are proven; ` +
          `${trusted.length} of ${destructive.length} destructive ones are taken for harmless`,
      );
      expect({ doubted, trusted }).toEqual({ doubted: [], trusted: [] });
    });

    it('says why not, and the same in each package', () => {
      expect(proof.judgeCommand('ls -la')).toEqual({ readOnly: true });
      const why = (command: string) => proof.judgeCommand(command) as object;
      expect(why('ls; rm x')).toEqual({ readOnly: false, why: '"rm" is not known to only read' });
      expect(why('find . -delete')).toEqual({
        readOnly: false,
        why: 'find is not known to only read with "-delete"',
      });
      expect(why('')).toEqual({ readOnly: false, why: 'there is no command in it' });
      expect(why('x'.repeat(1_000_000))).toEqual({
        readOnly: false,
        why: 'its 1000000 bytes are more than are judged',
      });
      expect(Object.isFrozen(why('ls'))).toBe(true);
    });

    it('refuses what is no well-formed text', () => {
      for (const given of [undefined, null, 7, {}, ['ls'], 'ls \ud800']) {
        for (const judge of [proof.judgeCommand, proof.isReadOnly]) {
          expect(thrownBy(() => judge(given as string))).toMatchObject({
            name: 'TurnbackError',
            code: 'INVALID_ARGUMENT',
            details: { argument: 'command' },
          });
        }
      }
    });
  });
}
