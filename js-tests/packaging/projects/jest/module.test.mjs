// Jest with modules (NODE_OPTIONS=--experimental-vm-modules).
import { afterAll, expect, test } from '@jest/globals';
import { isTurnbackError } from 'turnback';
import { sandboxPerTest } from 'turnback/testing/jest';
import { begins } from './seen.cjs';
import { upset } from './work.cjs';

const file = import.meta.filename;
const withSandbox = sandboxPerTest({ resource: new URL('./fixture', import.meta.url) }, { afterAll });

test(
  'upsets',
  withSandbox(async (sandbox) => {
    begins(file, 'upsets', sandbox);
    upset(sandbox.path);
    const error = await sandbox.cleanup().catch((error) => error);
    expect([isTurnbackError(error), error.code]).toEqual([true, 'UNSAVED_WORK']);
  }),
);

test(
  'begins anew',
  withSandbox((sandbox) => begins(file, 'begins anew', sandbox)),
);
