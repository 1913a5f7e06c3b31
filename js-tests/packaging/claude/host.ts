// The Claude Agent SDK with the program that it brings, in a project outside of this repository: its licence forbids that others pass it on,
// and the program has 400 MB. What runs here reaches nothing but the loopback.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { npm } from '../../../scripts/lib/tools.mjs';
import type { Project, Ran } from '../project.js';

const SDK = '@anthropic-ai/claude-agent-sdk';
/** The version that is tested; its program is Claude Code 2.1.332. */
const VERSION = '0.3.332';
const PLATFORM = `${SDK}-${process.platform}-${process.arch}`;

/** What npm says when there is no registry, or none that has this. */
const UNREACHABLE =
  /code (E40[1345]|ENOTFOUND|EAI_AGAIN|ECONN\w+|ENETUNREACH|EHOSTUNREACH|E?TIMEDOUT|ERR_SOCKET_TIMEOUT)/;

/**
 * Installs the SDK and its program by npm, without the packages that it wants beside it and has bundled.
 *
 * @returns why it cannot be, or `undefined`
 */
export async function install(project: Project): Promise<string | undefined> {
  const [program, args] = npm();
  const kind = ['--ignore-scripts', '--no-audit', '--no-fund', '--legacy-peer-deps', '--save-exact'];
  const network = ['--prefer-offline', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000'];
  const child = spawn(program, [...args, 'install', ...kind, ...network, `${SDK}@${VERSION}`], {
    cwd: project.root,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const code = new Promise((resolve) => child.once('close', resolve));
  const said = await text(child.stderr);
  if ((await code) !== 0) {
    const found = said.match(UNREACHABLE);
    if (found === null) throw new Error(`npm install failed: ${said}`);
    return `the Claude Agent SDK cannot be installed here: npm says ${found[1]}`;
  }
  if (!existsSync(programOf(project))) return `the Claude Agent SDK cannot be installed here: it has no ${PLATFORM}`;
  const tried = spawnSync(programOf(project), ['--version'], { encoding: 'utf8', env: { HOME: project.temporary } });
  if (tried.status === 0) return undefined;
  return `the Claude Agent SDK cannot be installed here: its program ends with ${tried.status ?? tried.signal ?? tried.error}`;
}

/** Claude Code. */
export const programOf = ({ root }: Project): string => join(root, 'node_modules', PLATFORM, 'claude');

/** What nobody may ask: a proxy for all that is not on the loopback. */
export class Outside {
  readonly #server = createServer();
  /** What was asked for all the same. */
  readonly asked: string[] = [];

  static async start(): Promise<Outside> {
    const outside = new Outside();
    const server = outside.#server;
    server.on('request', ({ method, url }, response) => {
      outside.asked.push(`${method} ${url}`);
      response.writeHead(502).end();
    });
    server.on('connect', ({ url }, socket) => {
      outside.asked.push(`CONNECT ${url}`);
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return outside;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** All that a host gets to know of this machine: a home of its own, where the model is, and that it is to stay at home. */
export function environment(project: Project, home: string, model: string, outside: string): Record<string, string> {
  for (const name of ['config', 'tmp']) mkdirSync(join(home, name), { recursive: true });
  return {
    PATH: [join(project.root, 'node_modules', '.bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter),
    HOME: home,
    TMPDIR: join(home, 'tmp'),
    XDG_STATE_HOME: join(home, 'state'),
    CLAUDE_CONFIG_DIR: join(home, 'config'),
    ANTHROPIC_BASE_URL: model,
    ANTHROPIC_API_KEY: 'none',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
    BASH_DEFAULT_TIMEOUT_MS: '600000',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_ERROR_REPORTING: '1',
    DISABLE_TELEMETRY: '1',
    ...Object.fromEntries(['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'].map((name) => [name, outside])),
    NO_PROXY: '127.0.0.1',
    no_proxy: '127.0.0.1',
  };
}

/** Runs a program to its end, while this process answers it. */
export async function runs(
  line: [program: string, ...args: string[]],
  options: { cwd: string; env: Record<string, string> },
): Promise<Ran & { stderr: string }> {
  const [program, ...args] = line;
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const code = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, output: stdout + stderr, stdout, stderr };
}
