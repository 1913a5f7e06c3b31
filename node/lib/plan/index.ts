export { PlanApplyService } from './apply.js';
export { PlanExecutor } from './executor.js';
export type { ApplyReport, PlanCheckpoints, PlanOptions, PlanRollback } from './types.js';
