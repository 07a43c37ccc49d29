export { shareCores, timeToThrottle, timeUnderQuota } from './cpu.js';
export { SimHost } from './host.js';
export { type HostOptions, type HostWatcher, hostOptions, SimOutcome, silent } from './options.js';
export { sharesOf } from './placement.js';
export { Player, type PlayerOptions } from './player.js';
export type { Results } from './results.js';
export { SimPlatform, type SimPlatformOptions } from './sim-platform.js';
