/** What makes the guard's checkpoints (G12), and what it may answer: as the guard has it, whose shell lies in `turnback-policy`. */

export type { CheckedAnswer, Driver, DriverAnswer, DriverRequest } from 'turnback-policy/shell';
export { checkedAnswer } from '../guard/index.js';
