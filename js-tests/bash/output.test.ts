// Output: streamed as it comes, capped without losing its end, always well-formed text.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OutputChunk, runBash } from 'turnback';
import { describe, expect, it, onTestFinished } from 'vitest';
import { marked, temporary } from './support.js';

const MIB = 1024 * 1024;
const MARKER = /\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n/;

/** All bytes of both streams, as they were heard. */
function collecting() {
  const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const onOutput = ({ stream, data }: OutputChunk) => void chunks[stream].push(Buffer.from(data));
  return {
    onOutput,
    stdout: () => Buffer.concat(chunks.stdout),
    stderr: () => Buffer.concat(chunks.stderr),
    chunks,
  };
}

/** Capped text, taken apart. */
function parts(text: string) {
  const found = MARKER.exec(text);
  if (found === null) throw new Error('nothing was left out');
  const head = text.slice(0, found.index);
  const tail = text.slice(found.index + found[0].length);
  return { head, tail, leftOut: Number(found[1]), kept: Buffer.byteLength(head) + Buffer.byteLength(tail) };
}

describe('10 MB of output', () => {
  const command = `echo begin; head -c ${10 * MIB} /dev/zero | tr '\\0' x; echo; echo end`;
  const total = 10 * MIB + 'begin\n\nend\n'.length;

  it('is capped: beginning and end are kept, the listener hears all of it', async () => {
    const heard = collecting();
    const result = await runBash({ sandbox: temporary(), command, onOutput: heard.onOutput });
    expect(result).toMatchObject({ exitCode: 0, truncated: true, stderr: '' });
    expect(heard.stdout().length).toBe(total);
    expect(Buffer.byteLength(result.stdout)).toBeLessThanOrEqual(MIB);
    expect(Buffer.byteLength(result.stdout)).toBeGreaterThan(MIB - 100);
    const { head, tail, leftOut, kept } = parts(result.stdout);
    expect([head.slice(0, 8), tail.slice(-6)]).toEqual(['begin\nxx', 'x\nend\n']);
    expect(leftOut + kept).toBe(total);
    expect(head.length).toBeGreaterThan(MIB / 5);
    expect(tail.length).toBeGreaterThan(MIB / 2);
  });

  it('is whole where there is room for it', async () => {
    const result = await runBash({ sandbox: temporary(), command, maxOutputBytes: total });
    expect(result.truncated).toBe(false);
    expect(result.stdout).toBe(`begin\n${'x'.repeat(10 * MIB)}\nend\n`);
  });

  it('a byte more than the limit is too much, and each stream has its own', async () => {
    const run = (bytes: number) =>
      runBash({
        sandbox: temporary(),
        command: `printf '%0${bytes}d' 0; printf '%0300d' 0 >&2`,
        maxOutputBytes: 300,
      });
    expect(await run(300)).toMatchObject({ truncated: false, stdout: '0'.repeat(300), stderr: '0'.repeat(300) });
    const over = await run(301);
    expect(over).toMatchObject({ truncated: true, stderr: '0'.repeat(300) });
    expect(parts(over.stdout)).toMatchObject({ leftOut: 301 - parts(over.stdout).kept });
  });

  it('many small writes are kept as few large ones are', async () => {
    const result = await runBash({
      sandbox: temporary(),
      command: 'for i in {1..20000}; do echo "$i"; done',
      maxOutputBytes: 1000,
    });
    const { head, tail, leftOut, kept } = parts(result.stdout);
    const all = Array.from({ length: 20_000 }, (_, at) => `${at + 1}\n`).join('');
    expect(all.startsWith(head) && all.endsWith(tail)).toBe(true);
    expect(leftOut + kept).toBe(all.length);
  });
});

describe('text', () => {
  it('no character is cut in two, wherever the cut falls', async () => {
    const unit = 'aé€😀';
    const directory = temporary();
    for (let most = 256; most < 280; most += 1) {
      for (const lead of ['', 'x', 'xx']) {
        const all = lead + unit.repeat(100);
        writeFileSync(join(directory, 'text'), all);
        const { stdout } = await runBash({ sandbox: directory, command: 'cat text', maxOutputBytes: most });
        expect(Buffer.byteLength(stdout)).toBeLessThanOrEqual(most);
        const { head, tail, leftOut, kept } = parts(stdout);
        expect([all.startsWith(head), all.endsWith(tail), leftOut + kept]).toEqual([
          true,
          true,
          Buffer.byteLength(all),
        ]);
      }
    }
  });

  it('a character that comes in two pieces is one, and the listener hears the pieces', async () => {
    const directory = temporary();
    const heard = collecting();
    const wait = (file: string) => `until [ -e ${file} ]; do sleep 0.01; done`;
    const { ran } = marked({
      sandbox: directory,
      command: `printf '\\360\\237'; ${wait('first')}; printf '\\230'; ${wait('second')}; printf '\\200 end'`,
      onOutput: (chunk) => {
        heard.onOutput(chunk);
        // Only now may the next piece come: so each is a chunk of its own.
        const names = ['first', 'second'];
        for (const name of names.slice(0, heard.chunks.stdout.length)) writeFileSync(join(directory, name), '');
      },
    });
    expect(await ran).toMatchObject({ stdout: '😀 end', truncated: false });
    expect(heard.chunks.stdout.map((piece) => piece.toString('hex')).slice(0, 2)).toEqual(['f09f', '98']);
  });

  it('what is no UTF-8 becomes U+FFFD in the result, and stays what it is for the listener', async () => {
    const run = async (octal: string) => {
      const heard = collecting();
      const { stdout } = await runBash({
        sandbox: temporary(),
        command: `printf '${octal}'`,
        onOutput: heard.onOutput,
      });
      return [stdout, heard.stdout().toString('hex')];
    };
    expect(await run('a\\377b')).toEqual(['a\ufffdb', '61ff62']);
    expect(await run('cut \\342\\202')).toEqual(['cut \ufffd', '63757420e282']);
    expect(await run('\\355\\240\\200')).toEqual(['\ufffd\ufffd\ufffd', 'eda080']);
    expect(await run('\\357\\273\\277mark')).toEqual(['\ufeffmark', 'efbbbf6d61726b']);
    expect(await run('nul \\000 .')).toEqual(['nul \0 .', '6e756c2000202e']);
  });

  it('random bytes: whole to the listener, and in the result well-formed and within the limit', async () => {
    const heard = collecting();
    const result = await runBash({
      sandbox: temporary(),
      command: 'head -c 300000 /dev/urandom | tee /dev/stderr',
      maxOutputBytes: 50_000,
      onOutput: heard.onOutput,
    });
    expect(heard.stdout().length).toBe(300_000);
    expect(heard.stdout().equals(heard.stderr())).toBe(true);
    expect(Buffer.byteLength(result.stdout)).toBeLessThanOrEqual(50_000);
    expect(Buffer.from(result.stdout).toString()).toBe(result.stdout);
    const all = heard.stdout().toString();
    const { head, tail } = parts(result.stdout);
    expect([all.startsWith(head), all.endsWith(tail)]).toEqual([true, true]);
  });
});

describe('the listener', () => {
  it('hears output while the command runs', async () => {
    const directory = temporary();
    const result = await runBash({
      sandbox: directory,
      command: 'echo ask; until [ -e answer ]; do sleep 0.01; done; echo got it',
      onOutput: ({ data }) => {
        if (Buffer.from(data).includes('ask')) writeFileSync(join(directory, 'answer'), '');
      },
    });
    expect(result.stdout).toBe('ask\ngot it\n');
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('listener');
      },
    ],
    [
      'rejects',
      async () => {
        throw new Error('listener');
      },
    ],
    [
      'throws what has no text',
      () => {
        throw Object.create(null);
      },
    ],
    ['writes into what it was given', ({ data }: OutputChunk) => void data.fill(0)],
  ] as [string, (chunk: OutputChunk) => void][])('one that %s changes nothing', async (name, onOutput) => {
    const warnings: Error[] = [];
    const listener = (warning: Error) => void warnings.push(warning);
    process.on('warning', listener);
    onTestFinished(() => void process.off('warning', listener));
    const result = await runBash({ sandbox: temporary(), command: 'echo a; echo c; echo b >&2', onOutput });
    expect(result).toMatchObject({ exitCode: 0, stdout: 'a\nc\n', stderr: 'b\n' });
    await new Promise(setImmediate);
    const ours = warnings.filter((warning) => warning.name === 'TurnbackWarning');
    expect(ours).toHaveLength(name.startsWith('writes') ? 0 : 1);
  });
});
