import test from 'ava';
import { FunctionRegistry } from '../../dashboard/server/function-registry.js';
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
  registry.takeView(HOST, view('/guest/a'), 0, 1);
  t.deepEqual(names(registry), ['/guest/a', '/guest/b'], 'listing is not calling');
  registry.takeView(HOST, view('/guest/c'), 0, 1);
  t.deepEqual(names(registry), ['/guest/a', '/guest/b'], 'listing evicts no function');
  registry.called('/guest/c');
  t.deepEqual(names(registry), ['/guest/b', '/guest/c']);
});

test('a rate is counted by the hook, so that lost observations do not lower it', (t) => {
  const registry = new FunctionRegistry(2);
  const list = (host: string, activations: number, at: number, clockRate = 1): void =>
    registry.takeView(host, { ...view('/guest/a'), activations }, at, clockRate);
  const rate = (at: number) => registry.get('/guest/a')?.row(at)?.rate;
  list(HOST, 1000, 0);
  t.is(rate(0), null, 'not known yet');
  list(HOST, 1120, 40_000);
  t.is(rate(40_000), 3);
  // 40 in 10 s at tenfold time.
  list('b', 0, 30_000, 10);
  list('b', 40, 40_000, 10);
  t.is(rate(40_000), 3.4);
  // The hook has restarted, and counts from zero.
  list(HOST, 5, 70_000);
  t.is(rate(70_000), 0.4);
  registry.forget('b');
  t.is(rate(70_000), null);
  list(HOST, 25, 80_000);
  t.is(rate(80_000), 2);
});

test('the row of a function is made once for each change', (t) => {
  const registry = new FunctionRegistry(2);
  const entry = registry.called('/guest/a');
  t.is(entry.row(1000), null);
  registry.takeView(HOST, view('/guest/a', 10), 0, 1);
  const first = entry.row(1000);
  t.like(first, { harvested: 10, manager: 'simppo' });
  t.is(entry.row(1000), first);
  registry.takeView(HOST, view('/guest/a', 15), 1000, 1);
  t.like(entry.row(1000), { harvested: 15, phase: '' });
  entry.setAgent('firm', 'serving');
  t.like(entry.row(1000), { manager: 'firm', phase: 'serving' });
  const managed = entry.row(1000);
  entry.setAgent('firm');
  t.is(entry.row(1000), managed, 'as before');
  registry.forget(HOST);
  t.is(entry.row(1000), null);
});
