export { SizeAdviser } from './adviser.js';
