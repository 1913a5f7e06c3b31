// The API reference of the crates, in target/doc. A warning is an error: a link that leads nowhere, an item without its comment.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const { status, error } = spawnSync('cargo', ['doc', '--workspace', '--no-deps'], {
  cwd: join(import.meta.dirname, '..'),
  stdio: 'inherit',
  env: { ...process.env, RUSTDOCFLAGS: '-D warnings' },
});
if (error !== undefined) throw error;
process.exitCode = status ?? 1;
