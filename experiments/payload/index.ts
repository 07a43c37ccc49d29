export { payloadReproduction } from './reproduce.js';
