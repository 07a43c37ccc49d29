export { memoryPressureReproduction } from './reproduce.js';
