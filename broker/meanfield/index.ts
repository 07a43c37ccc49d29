export * from './aggregator.js';
export { LeaveOneOut, type Others } from './leave-one-out.js';
export { type AggregatorRun, type RunningAggregator, runAggregator } from './run-aggregator.js';
export { addContribution, addSums, type Contribution, emptySums, sumOf } from './sums.js';
