// A terminal for the command line: `script` makes one, which is on every Linux (util-linux).
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished, type TestContext } from 'vitest';
import { PACKAGE } from './support.js';

const BIN = join(PACKAGE, 'bin', 'turnback.js');
const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;

const HAS_SCRIPT = spawnSync('script', ['--version']).error === undefined;

/** Skips a test where no terminal can be made. */
export function needsTerminal({ skip }: Pick<TestContext, 'skip'>): void {
  if (!HAS_SCRIPT) skip('there is no `script` (util-linux), which makes terminals');
}

export interface Terminal {
  /** Everything on the screen so far, without what only moves the cursor. */
  shown(): string;
  /** As it came. */
  raw(): string;
  /** Resolves when this has been shown, after what was waited for before. */
  until(text: string): Promise<void>;
  type(keys: string): void;
  pid: number;
  /** The exit code. */
  ended: Promise<number | null>;
}

/** Runs the command line at a terminal. */
export function atTerminal(args: string[], options: { cwd: string; env: Record<string, string> }): Terminal {
  // Where `CI` is set, Node takes no terminal for one with colours.
  const { TURNBACK_STORE: _store, NO_COLOR: _colour, CI: _ci, PAGER: _pager, LESS: _less, ...rest } = process.env;
  const line = ['exec', process.execPath, BIN, ...args].map((word, at) => (at === 0 ? word : quoted(word))).join(' ');
  const child = spawn('script', ['-qefc', line, '/dev/null'], {
    cwd: options.cwd,
    env: { ...rest, TERM: 'xterm-256color', SHELL: '/bin/sh', ...options.env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let all = '';
  let seen = 0;
  let waiting: { text: string; found: () => void; lost: (error: Error) => void } | undefined;
  const look = () => {
    if (waiting === undefined) return;
    const at = all.indexOf(waiting.text, seen);
    if (at === -1) return;
    seen = at + waiting.text.length;
    waiting.found();
    waiting = undefined;
  };
  child.stdout.on('data', (chunk) => {
    all += chunk;
    look();
  });
  const ended = new Promise<number | null>((settle) => child.once('close', settle));
  void ended.then(() => waiting?.lost(new Error(`it ended without ${waiting.text}; it showed:\n${all}`)));
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return {
    raw: () => all,
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
    shown: () => all.replace(/\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]/g, '').replaceAll('\r', ''),
    until: (text) =>
      new Promise((found, lost) => {
        waiting = { text, found, lost };
        look();
      }),
    type: (keys) => void child.stdin.write(keys),
    pid: child.pid as number,
    ended,
  };
}
