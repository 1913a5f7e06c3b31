// P5: the shared tables of inputs and answers, through the package `turnback` (in this process: through the addon).
import * as policy from 'turnback';
import { expect, it } from 'vitest';
import { replayTables } from '../vectors/policy-tables.js';
import { thrownBy } from '../wasm/vectors.js';

replayTables(policy);

it('its errors are TurnbackErrors', () => {
  expect(thrownBy(() => policy.checkpointComment(''))).toBeInstanceOf(policy.TurnbackError);
});
