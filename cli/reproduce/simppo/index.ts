export { simppoFigures, simppoMissed } from './figures.js';
export { FULL, QUICK, type StudySize } from './protocol.js';
export { simppoReport } from './report.js';
export { runStudy, type StudyRequest, type StudyRun } from './run.js';
