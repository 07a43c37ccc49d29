export { Aggregator, priceOf } from './aggregator.js';
export { LeaveOneOut, type Others } from './leave-one-out.js';
export { type RunningAggregator, runAggregator } from './run-aggregator.js';
export type { Contribution, FunctionLateness } from './sums.js';
