export { simppoFigures, simppoMissed } from './figures.js';
export { FULL, QUICK } from './protocol.js';
export { simppoReport } from './report.js';
export { runStudy } from './run.js';
