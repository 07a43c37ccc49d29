export { marketReproduction } from './reproduce.js';
