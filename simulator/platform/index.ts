export { Player } from './player.js';
export { SimPlatform } from './sim-platform.js';
