import { type RunPlan, runPlan } from './runs.js';

/** Runs one plan in its own process, with separate compiled code and memory. Prints JSON. */
console.log(JSON.stringify(runPlan(JSON.parse(process.argv[2]!) as RunPlan)));
