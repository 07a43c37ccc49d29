import test from 'ava';
import { natsServerHere } from '../broker/contract/server.js';
import { allowed } from '../support/slowness.js';
import { NatsCluster } from './nats-cluster.js';
import { INTERVAL, playRolling } from './rolling.js';

if (natsServerHere()) {
  test('a NATS cluster survives the kill of its leader and the restart of a node', async (t) => {
    t.timeout(allowed(240_000));
    const cluster = new NatsCluster();
    t.teardown(() => cluster.remove());
    await cluster.start();
    const { resumed, activations, lowered, problems } = await playRolling(cluster, ['leader'], [1]);
    for (const { what, after } of resumed) {
      t.log(`${what}: decisions again after ${(after / 1000).toFixed(1)} s`);
      t.true(after < 3 * INTERVAL, `${what}: ${after} ms`);
    }
    t.log(`${activations} activations, ${lowered} with lowered limits`);
    t.deepEqual(problems, []);
    t.true(activations > 50);
  });
} else {
  test('there is no nats-server here', (t) => t.pass());
}
