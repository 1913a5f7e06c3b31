const { sandboxPerTest } = require('turnback/testing/jest');

const withSandbox = sandboxPerTest({ resource: 'no-fixture' });
test(
  'has no directory',
  withSandbox(() => {}),
);
