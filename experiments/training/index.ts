export { faasrmRun, policyRun, runTraining } from './run.js';
export { loadTrainedPolicy, type TrainedPolicy } from './trained-policy.js';
export type { Place } from './training.js';
