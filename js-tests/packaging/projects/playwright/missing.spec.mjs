import { test as base } from '@playwright/test';
import { sandboxFixtures } from 'turnback/testing/playwright';

const test = base.extend(sandboxFixtures({ resource: 'no-fixture' }));
test('has no directory', async ({ sandbox }) => void sandbox);
