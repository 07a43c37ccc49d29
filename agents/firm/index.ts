export { FirmAgent } from './agent.js';
export { firmSettings } from './settings.js';
