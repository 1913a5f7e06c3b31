const { writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { sandboxPerTest } = require('turnback/testing/jest');
const { begins } = require('./seen.cjs');
const { pair } = require('./work.cjs');

const withSandbox = sandboxPerTest({ resource: 'fixture', keepOnFailure: true });
const meet = pair();
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
test.failing(
  'fails as it should',
  withSandbox((sandbox) => {
    leave(sandbox);
    expect(1).toBe(2);
  }),
);
test.failing(
  'never ends as it should',
  withSandbox(async (sandbox) => {
    leave(sandbox);
    await new Promise(() => {});
  }),
  300,
);
test.failing('passes and should not', withSandbox(leave));
test(
  'makes too few assertions',
  withSandbox((sandbox) => {
    expect.assertions(1);
    leave(sandbox);
  }),
);
describe('with a hook', () => {
  afterEach(() => expect(1).toBe(2));
  test('that fails', withSandbox(leave));
});
test.concurrent.each(['passes', 'fails'])(
  '%s beside another',
  withSandbox(async (sandbox, name) => {
    leave(sandbox);
    await meet(name === 'fails' ? 'first' : 'second', sandbox.path);
    expect(name).toBe('passes');
  }),
);
test(
  'comes after',
  withSandbox((sandbox) => begins(__filename, 'comes after', sandbox)),
);
