import test from 'ava';
import { MemoryBus } from '../../support/memory-broker/memory-bus.js';
import { brokerContract } from './contract.js';

const bus = new MemoryBus();

brokerContract(test, () => ({
  connect: async () => bus.connect(),
  takeDown: async () => bus.takeDown(),
  bringUp: async () => bus.bringUp(),
  rawRequest: async (subject, reply) => {
    bus.route({ subject, data: new Uint8Array(0), reply, headers: undefined });
  },
}));
