export { timeToThrottle, timeUnderQuota, WORK_EPSILON } from './cpu.js';
export { EventQueue } from './event-queue.js';
export { PERIOD_MICROS, quotaOf, sharesOf } from './placement.js';
export { Player } from './player.js';
export { SimPlatform } from './sim-platform.js';
export { progressAtLimit, residentAfter, workingSetAt } from './working-set.js';
