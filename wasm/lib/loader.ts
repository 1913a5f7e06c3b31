import { connect } from '../pkg/policy_bg.js';
import { text } from '../pkg/policy_bytes.js';
import { moduleOf } from './start.js';

/** The module of the pure rules, the gate and the simulation, started on first use and kept. */
export const policy = moduleOf('policy', text, connect);
