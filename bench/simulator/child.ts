import { type RunPlan, runPlan } from './runs.js';

/**
 * One plan in a process of its own, so that neither what was compiled for another nor another's
 * memory counts. Prints its figures as JSON.
 */
console.log(JSON.stringify(runPlan(JSON.parse(process.argv[2]!) as RunPlan)));
