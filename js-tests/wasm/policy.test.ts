// P1, P2, P5: the package turnback-policy, imported as a user does, gives the answers of the shared tables.
import * as policy from 'turnback-policy';
import { replayTables } from '../vectors/policy-tables.js';

replayTables(policy);
