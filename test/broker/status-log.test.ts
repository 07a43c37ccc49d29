import test from 'ava';
import { logConnection, silentLogger } from '../../broker/index.js';
import { MemoryBus } from '../support/memory-broker/memory-bus.js';
import { settle } from '../support/settle.js';

test('each loss of the connection is logged with its effect, and each return', async (t) => {
  const bus = new MemoryBus();
  const lines: string[] = [];
  const add = (_: object, message: string): void => void lines.push(message);
  const cancel = logConnection(
    bus.connect(),
    { ...silentLogger, info: add, warn: add, error: add },
    'no targets are sent',
  );
  await settle();
  bus.takeDown();
  bus.bringUp();
  t.deepEqual(lines, [
    'connected to NATS',
    'NATS is disconnected: no targets are sent',
    'connected to NATS',
  ]);
  cancel();
  bus.takeDown();
  t.is(lines.length, 3);
});
