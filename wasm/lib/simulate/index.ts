/** Scenarios and what becomes of them under a policy (P3). */
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
export type { AttemptEvent, BatchEvent, Simulation, Summary, TraceEvent } from './simulation.js';
