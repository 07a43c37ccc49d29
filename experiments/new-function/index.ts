export { newFunctionReproduction } from './reproduce.js';
