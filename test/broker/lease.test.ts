import test from 'ava';
import { NoJetStreamError, StoreFullError } from '../../broker/errors.js';
import { Lease } from '../../broker/index.js';
import type { GleanerError } from '../../config/index.js';
import { millis } from '../../config/index.js';
import { ManualTime } from '../support/manual-time.js';
import { MemoryBus } from '../support/memory-broker/memory-bus.js';

const DURATION = 3000;
const noJetStream = new NoJetStreamError('get in bucket leases');
const full = new StoreFullError(
  'update in bucket leases',
  'insufficient resources (JetStream error 10023)',
);

function setup() {
  const time = new ManualTime();
  const bus = new MemoryBus(time);
  const epochs: (number | null)[] = [];
  const lease = (host: string): Lease =>
    new Lease({
      bucket: bus.connect().keyValue('leases'),
      key: 'aggregator',
      host,
      boot: host,
      duration: millis(DURATION),
      clock: time,
      timers: time,
      changed: (epoch) => epochs.push(epoch),
    });
  /** Turns come every third of the duration; what they await is done before time goes on. */
  const pass = async (span: number): Promise<void> => {
    for (let passed = 0; passed < span; passed += 100) {
      time.advance(millis(100));
      for (let i = 0; i < 20; i++) await Promise.resolve();
    }
  };
  const refuse = (error: GleanerError | null, operation?: 'write'): void => {
    bus.refusal = (_, asked) => (operation === undefined || asked === operation ? error : null);
  };
  return { bus, epochs, lease, pass, refuse };
}

test('a lease that a full store does not renew ends, and is held again later', async (t) => {
  const { epochs, lease, pass, refuse } = setup();
  const held = lease('one');
  await held.turn();
  const first = held.epoch;
  t.truthy(first);
  refuse(full, 'write');
  await pass((DURATION * 2) / 3 + 1000);
  t.is(held.epoch, null);
  await pass(60_000);
  t.is(
    held.epoch,
    null,
    'a full store is not a server without JetStream: it never counts as alone',
  );
  t.false(held.alone);
  refuse(null);
  await pass(DURATION);
  t.true(held.epoch! > first!);
  t.deepEqual(epochs, [first, null, held.epoch]);
  await held.release();
});

test('a contender takes no lease from a store that refuses writes', async (t) => {
  const { lease, pass, refuse } = setup();
  refuse(full, 'write');
  const held = lease('one');
  await pass(10 * DURATION);
  t.is(held.epoch, null);
  await held.release();
});

test('a host that acted alone stops when JetStream is back with another owner', async (t) => {
  const { lease, pass, refuse } = setup();
  const owner = lease('owner');
  await owner.turn();
  refuse(noJetStream);
  const other = lease('other');
  await other.turn();
  t.true(other.alone, 'without JetStream');
  refuse(null);
  await pass(DURATION);
  t.true(owner.epoch !== null && !owner.alone);
  t.is(other.epoch, null, 'two owners would send two mean fields');
  await Promise.all([owner.release(), other.release()]);
});

test('a host that acted alone takes the free lease when JetStream is back', async (t) => {
  const { lease, pass, refuse } = setup();
  refuse(noJetStream);
  const one = lease('one');
  await one.turn();
  t.true(one.alone);
  refuse(null);
  await pass(DURATION);
  t.true(one.epoch !== null && !one.alone);
  await one.release();
});
