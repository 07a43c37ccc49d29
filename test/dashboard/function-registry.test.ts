import test from 'ava';
import { FunctionRegistry } from '../../dashboard/server/function-registry.js';
import { HostRegistry } from '../../dashboard/server/host-registry.js';
import { Overview } from '../../dashboard/server/overview.js';
import { ManualTime } from '../support/manual-time.js';
import { MemoryBus } from '../support/memory-broker/memory-bus.js';
import { HOST, SyntheticGleaner } from './synthetic.js';

const views = new SyntheticGleaner(new MemoryBus(new ManualTime()).connect(), 0);
const view = (name: string, harvestedCpuSeconds = 0) => ({
  ...views.view(name),
  harvestedCpuSeconds,
});
const names = (registry: FunctionRegistry): string[] => [...registry.all()].map(({ name }) => name);

test('a full registry evicts the least recently called function, whatever hooks list', (t) => {
  const registry = new FunctionRegistry(2);
  registry.called('/guest/a');
  registry.called('/guest/b');
  registry.listed(HOST, view('/guest/a'));
  t.deepEqual(names(registry), ['/guest/a', '/guest/b'], 'listing is not calling');
  registry.listed(HOST, view('/guest/c'));
  t.deepEqual(names(registry), ['/guest/a', '/guest/b'], 'listing evicts no function');
  registry.called('/guest/c');
  t.deepEqual(names(registry), ['/guest/b', '/guest/c']);
});

test('totals of evicted functions count until their hook restarts, and rates do not fall', (t) => {
  const registry = new FunctionRegistry(1);
  const overview = new Overview(registry, new HostRegistry());
  registry.called('/guest/a');
  registry.listed(HOST, view('/guest/a', 10));
  overview.host(HOST, 0, 1, 0);
  registry.called('/guest/b');
  registry.listed(HOST, view('/guest/b', 5));
  overview.host(HOST, 5000, 2, 0);
  t.is(overview.totals(5000).harvestedTotal, 15);
  // 10, then 15 core-seconds within 5 s.
  t.is(overview.totals(5000).harvestedCores, 1);
  registry.forget(HOST);
  t.is(overview.totals(5000).harvestedTotal, 0);
});
