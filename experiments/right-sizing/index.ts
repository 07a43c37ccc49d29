export { rightSizingReproduction } from './reproduce.js';
