import { sandboxFixtures } from 'turnback/testing/vitest';
import { test as base } from 'vitest';

const test = base.extend(sandboxFixtures({ resource: 'no-fixture' }));
test('has no directory', async ({ sandbox }) => void sandbox);
