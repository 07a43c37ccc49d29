export { concurrencyReproduction } from './reproduce.js';
