export { payloadMissed, payloadReport } from './reproduce.js';
export { PAYLOAD_CASES, payloadStudy } from './study.js';
