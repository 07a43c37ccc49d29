export { newFunctionMissed, newFunctionReport } from './reproduce.js';
export { newFunctionStudy, newFunctionTables } from './study.js';
