import test from 'ava';
import { LatencyHistogram } from '../../broker/messages/index.js';
import { FunctionRegistry } from '../../dashboard/server/function-registry.js';
import { ManualTime } from '../support/manual-time.js';
import { MemoryBus } from '../support/memory-broker/memory-bus.js';
import { observation } from '../support/observations.js';
import { HOST, SyntheticGleaner } from './synthetic.js';

const views = new SyntheticGleaner(new MemoryBus(new ManualTime()).connect(), 0);
const view = (name: string, harvestedCpuSeconds = 0) => ({
  ...views.view(name),
  killed: false,
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

test('a function has the mode in force, of hosts that agree', (t) => {
  const registry = new FunctionRegistry(1);
  const mode = (host: string, change: object) => {
    registry.takeView(host, { ...view('/guest/a'), ...change }, 0, 1);
    return registry.get('/guest/a')?.row(0)?.mode;
  };
  t.is(mode(HOST, {}), 'enforce');
  t.is(mode(HOST, { paused: true }), 'paused');
  t.is(mode('b', { killed: true }), 'mixed');
  t.is(mode(HOST, { paused: true, killed: true }), 'stopped');
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

test('p99, SLO, objective and samples of a row are those of the worst host', (t) => {
  const learning = (activations: number) => ({
    ...{ activations, activationsNeeded: 100 },
    ...{ controlSamples: activations, controlSamplesNeeded: 200 },
  });
  const hosts = {
    // The highest p99 of all, within its SLO.
    a: { objective: 'kept', p99: 300, slo: 400, learning: learning(500) },
    b: { objective: 'missed', p99: 150, slo: 100, learning: learning(400) },
    c: { objective: 'missed', p99: 160, slo: 120, learning: learning(300) },
    d: { objective: 'learning', p99: 900, slo: null, learning: learning(99) },
  } as const;
  const row = (...names: (keyof typeof hosts)[]) => {
    const registry = new FunctionRegistry(2);
    for (const host of names)
      registry.takeView(host, { ...view('/guest/a'), ...hosts[host] }, 0, 1);
    const { objective, p99, slo, learning } = registry.get('/guest/a')!.row(0)!;
    return { objective, p99, slo, learning };
  };
  t.deepEqual(row('a', 'b', 'c', 'd'), hosts.c, 'of two that miss it, the higher p99');
  t.deepEqual(row('d', 'a'), hosts.a, 'known before unknown');
  t.deepEqual(row('d'), { ...hosts.d, p99: null }, 'a p99 of too few activations is not shown');
});

test('the mean of a step’s latencies stands above their p99 only if a few are far longer', (t) => {
  const entry = new FunctionRegistry(1).called('/guest/a');
  const after = (...millis: number[]) => {
    const latency = new LatencyHistogram();
    for (const one of millis) latency.record(one);
    entry.observe(observation({ latency: latency.toMessage(), activations: millis.length }), 0);
    const { mean, p99 } = entry.history.columns();
    return { mean: mean.at(-1)!, p99: p99.at(-1)! };
  };
  // Bucket 80 holds (93.9, 102.4] ms, with middle 98.1.
  t.deepEqual(after(101, 102), { mean: 101.5, p99: 101.5 });
  // 1 of 200 is beyond the p99, whose bucket is 54, with middle 0.1 x 2^(53.5/8) = 10.3.
  const { mean, p99 } = after(...new Array<number>(199).fill(10), 10_000);
  t.is(mean, 59.95);
  t.true(Math.abs(p99 - 10.3) < 0.05, String(p99));
});
