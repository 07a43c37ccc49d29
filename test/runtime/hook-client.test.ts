import test from 'ava';
import { services } from '../../broker/index.js';
import { expectedHosts, serve } from '../../broker/services/index.js';
import { millis, systemClock, systemTimers } from '../../config/index.js';
import { inspectHooks } from '../../runtime/hook-client.js';
import { HOST, SyntheticGleaner } from '../dashboard/synthetic.js';
import { MemoryBus } from '../support/memory-broker/memory-bus.js';

test('a hook of another version is named with its problem, and the others are shown', async (t) => {
  const bus = new MemoryBus(systemTimers);
  const gleaner = new SyntheticGleaner(bus.connect(), 2);
  gleaner.start();
  const old = {
    description: '',
    handle: () => ({ host: { host: 'invoker9' }, functions: [], containers: [] }),
  };
  const stranger = serve(
    bus.connect(),
    {
      name: services.hook,
      version: '9.0.0',
      description: '',
      host: 'invoker9',
      metadata: {},
      endpoints: { inspect: old },
    },
    systemClock,
  );
  t.teardown(() => {
    gleaner.stop();
    stranger.stop();
  });
  const { hooks, unread } = await inspectHooks(bus.connect(), { wait: millis(300) });
  t.deepEqual(
    hooks.map(({ host, functions }) => [host.host, functions.map(({ name }) => name)]),
    [[HOST, [...gleaner.names]]],
  );
  t.is(unread.length, 1);
  t.regex(unread[0]!, /^the hook on invoker9 has another version \(host\.boot: /);
});

/** An aggregator that knows one hook. */
function startAggregator(bus: MemoryBus, complete: boolean) {
  const state = { publishing: true, epoch: 1, paused: false, refusals: {}, complete };
  return serve(
    bus.connect(),
    {
      name: services.aggregator,
      version: '1.0.0',
      description: '',
      host: 'one',
      metadata: {},
      endpoints: {
        list: {
          description: '',
          handle: () => ({ ...state, host: 'one', agents: [], invokers: [HOST] }),
        },
      },
    },
    systemClock,
  );
}

test('hooks that the aggregator knows are waited for, and not for a fixed time', async (t) => {
  const bus = new MemoryBus(systemTimers);
  const gleaner = new SyntheticGleaner(bus.connect(), 2);
  gleaner.start();
  const aggregator = startAggregator(bus, true);
  t.teardown(() => {
    gleaner.stop();
    aggregator.stop();
  });
  // AVA ends this test after some minutes, long before the hour that hooks may take.
  const { hooks } = await inspectHooks(bus.connect(), { wait: millis(3_600_000) });
  t.deepEqual(
    hooks.map(({ host }) => host.host),
    [HOST],
  );
});

test('an aggregator that may not know all hosts ends no wait, nor does another', async (t) => {
  const bus = new MemoryBus(systemTimers);
  const young = startAggregator(bus, false);
  t.deepEqual(await expectedHosts(bus.connect()), new Map());
  young.stop();
  const old = startAggregator(bus, true);
  t.teardown(() => old.stop());
  const expected = await expectedHosts(bus.connect());
  t.deepEqual([...expected.keys()].sort(), [services.agents, services.hook].sort());
});
