// The same from CommonJS: `require()` of modules, which Node does and TypeScript knows under `nodenext`.
import jest = require('turnback/testing/jest');
import turnback = require('turnback');
import ai = require('turnback/ai');
import policy = require('turnback-policy');

const guard = turnback.createGuard({});
const withSandbox: jest.WithSandbox = jest.sandboxPerTest({ resource: 'fixture' });

export = {
  test: withSandbox(async ({ path }) => path),
  wrap: ai.wrapTools,
  comment: policy.checkpointComment('turn'),
  guard,
};
