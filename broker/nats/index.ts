export { authenticatorFrom } from './credentials.js';
export { NatsBroker, type NatsOptions } from './nats-broker.js';
