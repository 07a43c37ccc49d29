export { createAware } from './make.js';
export { AwareManager, type AwareOptions, type AwareState } from './manager.js';
