import test from 'ava';
import { services } from '../../broker/index.js';
import {
  askEvery,
  askEveryPage,
  expectedInstances,
  findServices,
  serve,
} from '../../broker/services/index.js';
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

test('all functions of a hook are listed, one costs one request, and hosts none', async (t) => {
  const bus = new MemoryBus(systemTimers);
  const gleaner = new SyntheticGleaner(bus.connect(), 1601);
  gleaner.start();
  t.teardown(() => gleaner.stop());
  const inspect = async (request: object) => {
    gleaner.inspected.length = 0;
    const { hooks } = await inspectHooks(bus.connect(), request);
    return [hooks[0]!.functions.map(({ name }) => name), gleaner.inspected] as const;
  };
  const [names, pages] = await inspect({});
  t.deepEqual(names, gleaner.names);
  t.deepEqual(pages, [800, 800, 1]);
  const { hooks } = await inspectHooks(bus.connect());
  t.is((hooks[0]!.raw as { functions: unknown[] }).functions.length, 1601, 'for --output json');
  const last = gleaner.names[1600]!;
  t.deepEqual(await inspect({ function: last }), [[last], [1]]);
  t.deepEqual(await inspect({ limit: 0 }), [[], [0]]);
  t.deepEqual(await inspect({ offset: 1600, limit: 100 }), [[last], [1]]);
});

test('a hook that is found and answers with an error is missing', async (t) => {
  const bus = new MemoryBus(systemTimers);
  const inspect = {
    description: '',
    handle: () => {
      throw new Error('busy');
    },
  };
  const hook = serve(bus.connect(), {
    name: services.hook,
    version: '1.0.0',
    description: '',
    host: 'slow',
    endpoints: { inspect },
  });
  t.teardown(() => hook.stop());
  t.deepEqual(await inspectHooks(bus.connect()), { hooks: [], unread: [], missing: ['slow'] });
});

test('every page of every agent host is asked for', async (t) => {
  const bus = new MemoryBus(systemTimers);
  const gleaner = new SyntheticGleaner(bus.connect(), 1001);
  gleaner.start();
  t.teardown(() => gleaner.stop());
  const { answers } = await askEveryPage(bus.connect(), 'list');
  const pages = answers
    .get('agents0')!
    .map(({ functions }) => functions.map((one) => one.function));
  t.deepEqual(pages, [gleaner.names.slice(0, 1000), gleaner.names.slice(1000)]);
});

test('parts that the aggregator knows are waited for, and not for a fixed time', async (t) => {
  const bus = new MemoryBus(systemTimers);
  const gleaner = new SyntheticGleaner(bus.connect(), 2);
  gleaner.start();
  const broker = bus.connect();
  const [hook] = await findServices(broker, services.hook, millis(100));
  let instances: Record<string, Record<string, string>> | null = null;
  const state = {
    publishing: true,
    epoch: 1,
    paused: false,
    refusals: {},
    agents: [],
    invokers: [],
  };
  const aggregator = serve(bus.connect(), {
    name: services.aggregator,
    version: '1.0.0',
    description: '',
    host: 'one',
    endpoints: {
      list: { description: '', handle: () => ({ ...state, host: 'one', instances }) },
    },
  });
  t.teardown(() => {
    gleaner.stop();
    aggregator.stop();
  });
  t.deepEqual(await expectedInstances(broker), [], 'it may not know all');
  instances = {
    [services.hook]: { [hook!.id]: HOST },
    [services.aggregator]: { [aggregator.id]: 'one' },
  };
  const expected = await expectedInstances(broker);
  t.deepEqual(expected, [
    { service: services.hook, host: HOST, id: hook!.id },
    { service: services.aggregator, host: 'one', id: aggregator.id },
  ]);
  // AVA ends this test after some minutes, long before the hour that parts may take.
  const { hooks } = await inspectHooks(broker, { wait: millis(3_600_000) });
  t.deepEqual(
    hooks.map(({ host }) => host.host),
    [HOST],
  );
  const away = { service: services.hook, host: 'away', id: 'of-away' };
  const { missing } = await inspectHooks(broker, {
    wait: millis(100),
    expected: [...expected, away],
  });
  t.deepEqual(missing, ['away']);
  const agents = { [services.agents]: { 'of-away': 'away' } };
  instances = { ...instances, ...agents };
  t.deepEqual((await askEvery(broker, 'agents', 'list')).missing, [
    { service: services.agents, host: 'away' },
  ]);
  const found = await findServices(broker, null, millis(3_600_000), 'STATS', expected);
  t.deepEqual(found.map(({ name }) => name).sort(), [
    services.agents,
    services.aggregator,
    services.hook,
  ]);
});
