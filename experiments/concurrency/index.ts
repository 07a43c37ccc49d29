export { concurrencyReport } from './reproduce.js';
export { concurrencyStudy, studyVerdicts } from './study.js';
