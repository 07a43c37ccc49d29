export * from './study.js';
export * from './surface.js';
export * from './trial.js';
