export { DdpgAgent } from './agent.js';
export type { DdpgShape, DdpgState } from './learner.js';
export type { ReplayData } from './replay.js';
export type { DdpgSettings } from './settings.js';
