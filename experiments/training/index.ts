export { faasrmRun, policyRun, runTraining } from './run.js';
export type { Place } from './training.js';
