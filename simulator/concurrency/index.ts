export * from './surface.js';
export * from './trial.js';
