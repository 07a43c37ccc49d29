export { marketManager } from './manager.js';
export { MARKET } from './settings.js';
