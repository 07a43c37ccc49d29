export type { NatsOptions } from './connection-options.js';
export { authenticatorFrom, isOpenToOthers } from './credentials.js';
export { NatsBroker } from './nats-broker.js';
