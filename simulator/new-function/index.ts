export { NEWCOMERS, newcomerWorkload } from './newcomer.js';
export * from './study.js';
