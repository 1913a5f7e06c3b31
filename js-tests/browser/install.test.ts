/** P4: where there is no Chromium, npm test installs Debian's, if it can; otherwise it says in a sentence how to. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { NO_CHROMIUM } from '../../scripts/lib/chromium.mjs';

const STEP = join(import.meta.dirname, '..', '..', 'scripts', 'browser.mjs');
const MANY_MS = 120_000;

/** A directory with nothing in it but what is written there. */
function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'turnback-browser-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

/** The step with no other PATH than this directory: its output by lines. */
function step(path: string, env: Record<string, string> = {}): string[] {
  const { status, stdout } = spawnSync(process.execPath, [STEP], {
    env: { PATH: path, ...env },
    encoding: 'utf8',
    timeout: MANY_MS,
  });
  expect(status).toBe(0);
  return stdout.trim().split('\n');
}

/** An apt-get that writes down what it is told, and can install once it has fetched its lists. */
function aptGet(path: string): { calls(): string[] } {
  const file = join(path, 'apt-get');
  const log = join(path, 'calls');
  const lines = [
    '#!/bin/sh',
    `echo "$*" >> '${log}'`,
    'case "$*" in',
    `  *update*) : > '${path}/lists' ;;`,
    `  *) [ -e '${path}/lists' ] && /bin/cp '${file}' '${path}/chromium' ;;`,
    'esac',
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  chmodSync(file, 0o755);
  return { calls: () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []) };
}

test('one that is there is taken, and nothing is installed', () => {
  const path = folder();
  const apt = aptGet(path);
  const program = join(path, 'chromium-browser');
  writeFileSync(program, '#!/bin/sh\n');
  chmodSync(program, 0o755);
  expect(step(path)).toEqual([`Chromium is ${program}`]);
  expect(apt.calls()).toEqual([]);
});

test('root installs it, with new lists where the old ones do not do; others are told why not', () => {
  const path = folder();
  const apt = aptGet(path);
  const said = step(path);
  if (process.getuid?.() === 0 && process.platform === 'linux') {
    expect(said.at(0)).toMatch(/^installing Debian's package chromium: about \d+ MB/);
    expect(said.at(-1)).toBe(`Chromium is ${join(path, 'chromium')}`);
    const install = '-q -y install --no-install-recommends chromium fonts-liberation';
    expect(apt.calls()).toEqual([install, '-q -y update', install]);
  } else {
    expect(said).toEqual([expect.stringMatching(/^not installed: /), `skipped: ${NO_CHROMIUM}`]);
    expect(apt.calls()).toEqual([]);
  }
});

test('without apt-get, or with another program asked for, nothing is tried', () => {
  const path = folder();
  expect(step(path)).toEqual(['not installed: there is no apt-get here', `skipped: ${NO_CHROMIUM}`]);
  const apt = aptGet(path);
  // A directory can be "executed" as far as its mode says.
  expect(step(path, { TURNBACK_CHROMIUM: path })).toEqual([
    `not installed: TURNBACK_CHROMIUM is ${path}, which is no program`,
    `skipped: ${NO_CHROMIUM}`,
  ]);
  expect(apt.calls()).toEqual([]);
});
