export { rightSizingReproduction } from './reproduce.js';
export { StagedSizes } from './staged-sizes.js';
