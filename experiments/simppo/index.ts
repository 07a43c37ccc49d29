export { FULL, QUICK } from './protocol.js';
export { reproduceSimppo } from './run.js';
