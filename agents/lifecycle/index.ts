export * from './errors.js';
export * from './guard.js';
export * from './life-cycle.js';
export * from './record.js';
export * from './settings.js';
export { bandAround, pooled, shareOf, type WindowFigures, windowFigures } from './window.js';
