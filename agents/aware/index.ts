export { AWARE_BASES, type AwareBase } from './companion.js';
export { AWARE_DEFAULT, type AwareChoice, createAware } from './make.js';
export { AwareManager, type AwareOptions, type AwareState } from './manager.js';
