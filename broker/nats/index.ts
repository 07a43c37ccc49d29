export { authenticatorFrom, isOpenToOthers } from './credentials.js';
export { NatsBroker, type NatsOptions } from './nats-broker.js';
