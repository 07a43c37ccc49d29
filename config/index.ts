export * from './clock.js';
export * from './errors.js';
export * from './random.js';
export * from './units.js';
