import test from 'ava';
import { connect } from 'nats';
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
    rawRequest: async (subject, reply) => {
      const client = await connect({ servers: server.url });
      client.publish(subject, new Uint8Array(0), { reply });
      await client.close();
    },
  }));
} else {
  test('there is no nats-server here', (t) => t.pass());
}
