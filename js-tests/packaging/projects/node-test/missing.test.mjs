import { test } from 'node:test';
import { sandboxPerTest } from 'turnback/testing/node-test';

const sandboxOf = sandboxPerTest({ resource: 'no-fixture' });
test('has no directory', async (t) => void (await sandboxOf(t)));
