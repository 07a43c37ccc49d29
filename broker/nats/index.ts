export { isOpenToOthers } from './credentials.js';
export { NatsBroker } from './nats-broker.js';
