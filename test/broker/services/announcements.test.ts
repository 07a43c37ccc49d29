import test from 'ava';
import { services } from '../../../broker/index.js';
import { InstanceDirectory } from '../../../broker/services/index.js';
import { millis } from '../../../config/index.js';

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
