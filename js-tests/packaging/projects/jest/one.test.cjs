const { sandboxPerTest } = require('turnback/testing/jest');
const { begins } = require('./seen.cjs');
const { pair, upset } = require('./work.cjs');

const meet = pair();
const withSandbox = sandboxPerTest({ resource: 'fixture' });

test(
  'upsets',
  withSandbox(async (sandbox) => {
    begins(__filename, 'upsets', sandbox);
    upset(sandbox.path);
    expect((await sandbox.changes()).length).toBeGreaterThan(4);
  }),
);

test(
  'begins anew',
  withSandbox((sandbox) => begins(__filename, 'begins anew', sandbox)),
);

test.concurrent.each(['first', 'second'])(
  '%s of two',
  withSandbox(async (sandbox, name) => {
    begins(__filename, name, sandbox);
    await meet(name, sandbox.path);
  }),
);

test(
  'comes last',
  withSandbox((sandbox) => begins(__filename, 'comes last', sandbox)),
);
