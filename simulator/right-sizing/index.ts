export * from './staged-sizes.js';
export * from './study.js';
