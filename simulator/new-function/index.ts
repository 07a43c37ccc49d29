export { NEW_FUNCTIONS, newFunctionWorkload } from './newcomer.js';
export * from './study.js';
