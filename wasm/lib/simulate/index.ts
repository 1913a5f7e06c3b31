/** Scenarios and what becomes of them under a policy (P3). */
export { measuredDriver } from './measured.js';
export { policyName } from './names.js';
export { type DroppedLine, type ParseOptions, parseScenario } from './parse.js';
export type {
  DriverModel,
  Latency,
  Policy,
  PolicyKind,
  RecordedAttempt,
  Retention,
  Scenario,
  ScenarioBatch,
} from './scenario.js';
export { simulate } from './simulate.js';
export type { AttemptEvent, BatchEvent, Simulation, Summary, TraceEvent } from './simulation.js';
export { checkScenario } from './validate.js';
