import * as glue from '../pkg/policy_bg.js';
import { text } from '../pkg/policy_bytes.js';
import { started } from './start.js';

/** The module's functions. */
export type Policy = typeof glue;

let loaded: Policy | undefined;

/** The module of the pure rules and the gate, started on first use and kept. */
export function policy(): Policy {
  loaded ??= started('policy', text, glue);
  return loaded;
}
