export { faasrmReproduction } from './run-study.js';
