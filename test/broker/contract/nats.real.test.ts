import test from 'ava';
import { brokerContract } from './contract.js';
import { natsServerHere, RealServer } from './server.js';

if (natsServerHere()) {
  const server = new RealServer();
  test.before(() => server.up());
  test.after.always(() => server.remove());
  brokerContract(test, () => ({
    connect: () => server.connect(),
    takeDown: () => server.down(),
    bringUp: () => server.up(),
  }));
} else {
  test('there is no nats-server here', (t) => t.pass());
}
