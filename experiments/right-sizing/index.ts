export { sizingMissed, sizingReport } from './reproduce.js';
export { sizingStudy } from './study.js';
