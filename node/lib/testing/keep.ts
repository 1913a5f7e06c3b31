import { node } from '../builtin.js';
import type { CheckpointManager, Sandbox } from '../index.js';

/** The most characters of a test's name in the name of a directory. */
const NAME = 60;

/** The part of a directory's name that says which test it was. */
function slug(test: string): string {
  const plain = test.replace(/[^\p{L}\p{N}]+/gu, '-').slice(0, NAME);
  return plain.replace(/^-+|-+$/g, '') || 'test';
}

/**
 * Keeps what a sandbox holds as plain files in a new directory. Not the sandbox itself: its store goes with the tests.
 *
 * @returns the directory
 */
export async function keepTree(
  manager: CheckpointManager,
  sandbox: Sandbox,
  where: Uint8Array | 'temporary',
  test: string,
): Promise<string> {
  const { fs, os } = node;
  const parent = where === 'temporary' ? os.tmpdir() : Buffer.from(where).toString();
  fs.mkdirSync(parent, { recursive: true });
  const kept = fs.mkdtempSync(`${parent}/turnback-kept-${slug(test)}-`);
  const { checkpointId } = await manager.createCheckpoint(
    sandbox,
    'turnback-testing',
    'manual',
    {},
    { allowBroad: true },
  );
  await manager.export(checkpointId, kept);
  return kept;
}
