const { writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { sandboxPerTest } = require('turnback/testing/jest');
const { begins } = require('./seen.cjs');

const withSandbox = sandboxPerTest({ resource: 'fixture', keepOnFailure: true });
const leave = (sandbox) => writeFileSync(join(sandbox.path, 'evidence'), 'left\n');

test(
  'fails',
  withSandbox((sandbox) => {
    leave(sandbox);
    expect(1).toBe(2);
  }),
);
test(
  'never ends',
  withSandbox(async (sandbox) => {
    leave(sandbox);
    await new Promise(() => {});
  }),
  500,
);
test(
  'comes after',
  withSandbox((sandbox) => begins(__filename, 'comes after', sandbox)),
);
