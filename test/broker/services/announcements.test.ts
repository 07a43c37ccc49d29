import test from 'ava';
import { services, wildcards } from '../../../broker/index.js';
import { decodeAnnouncement } from '../../../broker/messages/index.js';
import { announce, InstanceDirectory } from '../../../broker/services/index.js';
import { millis } from '../../../config/index.js';
import { ManualTime } from '../../support/manual-time.js';
import { MemoryBus } from '../../support/memory-broker/memory-bus.js';
import { settle } from '../../support/settle.js';

const hook = (id: string) => ({ v: 1, service: services.hook, host: 'h', id }) as const;

test('an instance without an announcement for 15 s is forgotten, and one may be missing', (t) => {
  const directory = new InstanceDirectory();
  t.is(directory.all(millis(1e6)), null, 'never connected');
  directory.mayMiss(millis(0));
  t.is(directory.all(millis(15_000)), null);
  t.deepEqual(directory.all(millis(15_001)), {});
  directory.take(hook('hook-1'), millis(20_000));
  t.deepEqual(directory.all(millis(35_000)), { [services.hook]: { 'hook-1': 'h' } });
  t.is(directory.all(millis(35_001)), null, 'it may be late');
  t.deepEqual(directory.all(millis(50_002)), {});
});

test('above ten thousand instances one is missing, and known ones are announced again', (t) => {
  const directory = new InstanceDirectory();
  directory.mayMiss(millis(0));
  for (let n = 0; n < 10_000; n++) directory.take(hook(`hook-${n}`), millis(10_000));
  directory.take(hook('hook-0'), millis(20_000));
  t.is(Object.keys(directory.all(millis(20_000))![services.hook]!).length, 10_000);
  directory.take(hook('one-more'), millis(20_000));
  t.is(directory.all(millis(20_001)), null);
});

test('two hooks of one name are told once, one that crashed and its successor are not', (t) => {
  const told: string[] = [];
  const directory = new InstanceDirectory(({ host }) => told.push(host));
  directory.take(hook('crashed'), millis(0));
  directory.take(hook('successor'), millis(1000));
  directory.take(hook('successor'), millis(11_000));
  t.deepEqual(told, []);
  directory.take(hook('clone'), millis(12_000));
  directory.take(hook('successor'), millis(21_000));
  directory.take(hook('clone'), millis(22_000));
  directory.take(hook('successor'), millis(31_000));
  t.deepEqual(told, ['h']);
});

test('an end after a fault is known for an hour, or until its successor is announced', (t) => {
  const directory = new InstanceDirectory();
  const ended = { ...hook('hook-1'), stopping: true };
  directory.take(hook('hook-1'), millis(0));
  directory.take({ ...ended, failure: 'a fault' }, millis(1000));
  const known = { service: services.hook, host: 'h', failure: 'a fault' };
  t.deepEqual(directory.failed(millis(3_601_000)), [{ ...known, age: millis(3_600_000) }]);
  t.deepEqual(directory.failed(millis(3_601_001)), []);
  directory.take(hook('hook-2'), millis(2000));
  t.deepEqual(directory.failed(millis(2000)), []);
  directory.take(ended, millis(3000));
  t.deepEqual(directory.failed(millis(3000)), [], 'it stopped in order');
});

test('the fault that ends an instance is announced, cut to what a message may have', async (t) => {
  const bus = new MemoryBus();
  const listener = bus.connect();
  const got: unknown[] = [];
  listener.subscribe(wildcards.announcements, ({ data }) => {
    const decoded = decodeAnnouncement(data);
    if (decoded.ok && decoded.message.stopping) got.push(decoded.message.failure);
  });
  const { service, host, id } = hook('hook-1');
  for (const failure of [() => null, () => 'x'.repeat(1000)])
    announce(bus.connect(), new ManualTime(), { service, host, id }, failure)();
  await settle();
  t.deepEqual(got, [undefined, 'x'.repeat(512)]);
});
