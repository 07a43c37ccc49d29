import test from 'ava';
import { services, subjects } from '../../../broker/index.js';
import { occupancyOf, priceOf } from '../../../broker/mean-field/aggregator.js';
import { Aggregator, runAggregator } from '../../../broker/mean-field/index.js';
import { emptySums } from '../../../broker/mean-field/sums.js';
import {
  type AgentsPartial,
  decodeMeanField,
  encodeMessage,
  type HostReport,
  MEAN_FIELD_HOSTS_MAX,
  type MeanField,
} from '../../../broker/messages/index.js';
import { aggregatorService, announce, callService } from '../../../broker/services/index.js';
import { type Bytes, type Millicores, millis } from '../../../config/index.js';
import { ManualTime } from '../../support/manual-time.js';
import { MemoryBus } from '../../support/memory-broker/memory-bus.js';
import { settle } from '../../support/settle.js';

const report = (host: string, sequence: number, demandCpu: number): HostReport => ({
  v: 1,
  host,
  boot: 'boot',
  sequence,
  capacity: { cpu: 2000 as Millicores, memory: 4000 as Bytes },
  allocatable: { cpu: 1900 as Millicores, memory: 3000 as Bytes },
  pool: { cpu: 0 as Millicores, memory: 0 as Bytes },
  demand: { cpu: demandCpu as Millicores, memory: 1500 as Bytes },
  available: { cpu: 2000 as Millicores, memory: 3000 as Bytes },
  granted: { cpu: 1900 as Millicores, memory: 1500 as Bytes },
  functions: 1,
  containers: 1,
  running: 1,
  mode: 'enforce',
});

const partial = (host: string, sequence: number, boot = 'boot', members = 1): AgentsPartial => ({
  v: 1,
  host,
  boot,
  sequence,
  interval: 1000,
  sums: {
    ...emptySums(),
    members,
    state: [sequence],
    squares: [sequence * sequence],
    actions: [0, 1, 0],
  },
});

test('price is the clipped excess of occupancy over 1', (t) => {
  t.is(occupancyOf(3000, 2000), 1.5);
  t.is(priceOf(1.5), 0.5);
  t.is(priceOf(0.9), 0);
  t.is(priceOf(7), 1);
  t.is(occupancyOf(0, 0), 0);
  t.is(priceOf(occupancyOf(1, 0)), 1);
});

test('capacity, occupancy and price come per invoker host from its own report', (t) => {
  const aggregator = new Aggregator({ host: 'agg', boot: 'boot', step: millis(1000) });
  aggregator.takeReport(report('h1', 1, 2500), millis(0));
  aggregator.takeReport(report('h2', 1, 1000), millis(0));
  const field = aggregator.step(millis(10), 4);
  // 2500 / 2000 = 1.25 and 1500 / 3000 = 0.5.
  t.deepEqual(field.hosts[0], {
    host: 'h1',
    occupancy: { cpu: 1.25, memory: 0.5 },
    price: { cpu: 0.25, memory: 0 },
    functionDemand: 2500,
  });
  t.deepEqual(field.hosts[1]?.price, { cpu: 0, memory: 0 });
  t.deepEqual(field.capacity, { cpu: 4000 as Millicores, memory: 8000 as Bytes });
  t.is(field.epoch, 4);
});

test('beside other hosts a host has the mean demand of its active functions', (t) => {
  const aggregator = new Aggregator({ host: 'agg', boot: 'boot', step: millis(1000) });
  aggregator.takeReport({ ...report('h1', 1, 3000), functions: 4 }, millis(0));
  t.is(aggregator.step(millis(10), 4).hosts[0]!.functionDemand, undefined);
  aggregator.takeReport({ ...report('h2', 1, 0), functions: 0 }, millis(20));
  const { hosts } = aggregator.step(millis(30), 4);
  // 3000 of 4 functions.
  t.deepEqual(
    hosts.map(({ functionDemand }) => functionDemand),
    [750, undefined],
  );
});

test('run-queue pressure and weights of a host are those of its report, if it has them', (t) => {
  const aggregator = new Aggregator({ host: 'agg', boot: 'boot', step: millis(1000) });
  aggregator.takeReport({ ...report('h1', 1, 0), pressure: 0.5, weights: 896 }, millis(0));
  aggregator.takeReport({ ...report('h2', 1, 0), weights: 0 }, millis(0));
  t.deepEqual(
    aggregator.step(millis(10), 4).hosts.map(({ pressure, weights }) => [pressure, weights]),
    [
      [0.5, 896],
      [undefined, 0],
    ],
  );
});

test('a host without a message for 1.5 steps leaves the totals until its next one', (t) => {
  const aggregator = new Aggregator({ host: 'agg', boot: 'boot', step: millis(1000) });
  aggregator.takePartial(partial('a', 1), millis(0));
  aggregator.takePartial(partial('b', 1), millis(900));
  aggregator.takeReport(report('h', 1, 0), millis(0));
  const inTime = aggregator.step(millis(1500), 1);
  t.deepEqual([inTime.totals.members, inTime.hosts.length], [2, 1]);
  const later = aggregator.step(millis(1501), 1);
  t.is(later.totals.members, 1);
  t.is(later.hosts.length, 0);
  t.deepEqual(aggregator.hosts(millis(1501)), { agents: ['b'], invokers: [] });
  t.is(aggregator.takePartial(partial('a', 2), millis(1600)), null);
  t.is(aggregator.step(millis(1700), 1).totals.members, 2);
});

test('a sender is silent after 1.5 of its own intervals, of one step to ten minutes', (t) => {
  const aggregator = new Aggregator({ host: 'agg', boot: 'boot', step: millis(1000) });
  const leavesAfter = (interval: number): (number | undefined)[] => {
    t.is(aggregator.takePartial({ ...partial('a', interval), interval }, millis(0)), null);
    t.is(aggregator.takeReport({ ...report('h', interval, 0), interval }, millis(0)), null);
    const { agents, invokers } = aggregator.explain(millis(0));
    return [agents[0]?.leavesAfter, invokers[0]?.leavesAfter];
  };
  for (const [interval, expected] of [
    [100, 1500],
    [1000, 1500],
    [4000, 6000],
    [600_000, 900_000],
    [1_000_000, 900_000],
  ] as const)
    t.deepEqual(leavesAfter(interval), [expected, expected], String(interval));
});

test('a host that reports less often than the aggregator publishes has a price each time', (t) => {
  const aggregator = new Aggregator({ host: 'agg', boot: 'boot', step: millis(2000) });
  const hostsAt = (now: number): number => aggregator.step(millis(now), 1).hosts.length;
  for (let now = 0; now < 60_000; now += 2000) {
    if (now % 10_000 === 0)
      aggregator.takeReport({ ...report('h', 1 + now, 3000), interval: 10_000 }, millis(now));
    t.is(hostsAt(now), 1, `${now} ms`);
  }
  // The last report was at 50 s.
  t.deepEqual([hostsAt(65_000), hostsAt(65_001)], [1, 0]);
});

test('ages are counted from the newest message of each host', (t) => {
  const aggregator = new Aggregator({ host: 'agg', boot: 'boot', step: millis(1000) });
  aggregator.takePartial(partial('a', 1), millis(100));
  aggregator.takeReport(report('h', 1, 0), millis(300));
  const { agents, invokers } = aggregator.explain(millis(500));
  t.deepEqual([agents[0]?.age, invokers[0]?.age], [millis(400), millis(200)]);
  t.deepEqual(aggregator.hosts(millis(500)), { agents: ['a'], invokers: ['h'] });
});

test('beyond the largest number of hosts new ones are refused, and known ones stay', (t) => {
  const aggregator = new Aggregator({ host: 'agg', boot: 'boot', step: millis(1000) });
  for (let i = 0; i < MEAN_FIELD_HOSTS_MAX; i++) {
    t.is(aggregator.takePartial(partial(`a${i}`, 1), millis(0)), null);
    t.is(aggregator.takeReport(report(`h${i}`, 1, 0), millis(0)), null);
  }
  t.is(aggregator.takePartial(partial('late', 1), millis(1)), 'too_many_hosts');
  t.is(aggregator.takeReport(report('late', 1, 0), millis(1)), 'too_many_hosts');
  // The first host's sequence is still known.
  t.is(aggregator.takePartial(partial('a0', 1), millis(1)), 'repeated');
  t.is(aggregator.takeReport(report('h0', 1, 0), millis(1)), 'repeated');
  t.is(aggregator.takePartial(partial('a0', 2), millis(1)), null);
  t.is(aggregator.takeReport(report('h0', 2, 0), millis(1)), null);
});

test('repeated, older and pre-restart batches change nothing', (t) => {
  const aggregator = new Aggregator({ host: 'agg', boot: 'boot', step: millis(1000) });
  t.is(aggregator.takePartial(partial('a', 5), millis(0)), null);
  t.is(aggregator.takePartial(partial('a', 5), millis(1)), 'repeated');
  t.is(aggregator.takePartial(partial('a', 4), millis(1)), 'out_of_order');
  t.is(aggregator.takePartial(partial('a', 1, 'boot2'), millis(2)), null);
  t.is(aggregator.takePartial(partial('a', 6), millis(3)), 'old_boot');
  const field = aggregator.step(millis(10), 1);
  t.deepEqual(field.batches, [{ host: 'a', boot: 'boot2', sequence: 1 }]);
  t.deepEqual(field.totals.state, [1]);
});

test('features of another width are not added', (t) => {
  const aggregator = new Aggregator({ host: 'agg', boot: 'boot', step: millis(1000) });
  aggregator.takePartial(partial('a', 1), millis(0));
  const other = partial('b', 1);
  other.sums.state = [1, 2];
  other.sums.squares = [1, 4];
  t.is(aggregator.takePartial(other, millis(1)), 'other_features');
  const otherActions = partial('b', 1);
  otherActions.sums.actions = [0, 1];
  t.is(aggregator.takePartial(otherActions, millis(1)), 'other_features');
});

test('an agent host without agents has no features, and one alone may change its own', (t) => {
  const aggregator = new Aggregator({ host: 'agg', boot: 'boot', step: millis(1000) });
  const wider = (host: string, sequence: number): AgentsPartial => {
    const one = partial(host, sequence);
    return { ...one, sums: { ...one.sums, state: [1, 2], squares: [1, 4] } };
  };
  const empty = (host: string): AgentsPartial => ({ ...partial(host, 1), sums: emptySums() });
  t.is(aggregator.takePartial(empty('none'), millis(0)), null);
  t.is(aggregator.takePartial(partial('a', 1), millis(0)), null);
  t.is(aggregator.takePartial(wider('a', 2), millis(0)), null);
  t.is(aggregator.takePartial(empty('other'), millis(0)), null);
  t.is(aggregator.takePartial(wider('b', 1), millis(0)), null);
  t.is(aggregator.takePartial(partial('c', 1), millis(0)), 'other_features');
});

async function pass(time: ManualTime, by: number): Promise<void> {
  for (let i = 0; i < by; i += 100) {
    time.advance(millis(100));
    await settle();
  }
}

test('one of two aggregators publishes; its successor has a higher epoch', async (t) => {
  const time = new ManualTime();
  const bus = new MemoryBus(time);
  const fields: MeanField[] = [];
  const listener = bus.connect();
  listener.subscribe(subjects.meanField, (message) => {
    const decoded = decodeMeanField(message.data);
    if (decoded.ok) fields.push(decoded.message);
  });
  const start = (host: string) =>
    runAggregator({
      broker: bus.connect(),
      clock: time,
      timers: time,
      intervalMs: 1000,
      host,
      boot: `${host}-boot`,
    });
  const first = start('one');
  await settle();
  const second = start('two');
  await pass(time, 100);
  t.deepEqual([first.publishing, second.publishing], [true, false]);
  listener.publish(subjects.agentsPartial('a'), encodeMessage(partial('a', 1)));
  listener.publish(subjects.agentsPartial('a'), new TextEncoder().encode('{"v":1}'));
  await pass(time, 1000);
  t.is(fields.length, 1);
  t.is(fields[0]?.totals.members, 1);
  const state = (await callService(listener, {
    service: 'gleaner-aggregator',
    endpoint: 'list',
    host: 'one',
  })) as {
    refusals: { partials: { malformed: number } };
  };
  t.is(state.refusals.partials.malformed, 1);
  // 3000 of 2000 millicores are wanted: occupancy 1.5, price .5 (its excess over 1); memory 1500 of
  // 3000: .5 and none.
  listener.publish(subjects.hostReport('i'), encodeMessage(report('i', 1, 3000)));
  await settle();
  for (const endpoint of ['list', 'inspect', 'explain'] as const) {
    const answer = await callService(listener, {
      service: 'gleaner-aggregator',
      endpoint,
      host: 'one',
    });
    t.deepEqual(aggregatorService[endpoint].answer.parse(answer), answer, endpoint);
    if (endpoint !== 'explain') continue;
    const { agents, invokers } = aggregatorService.explain.answer.parse(answer);
    t.deepEqual([agents[0]?.host, agents[0]?.sums.members], ['a', 1]);
    t.deepEqual(
      [invokers[0]?.occupancy, invokers[0]?.price],
      [
        { cpu: 1.5, memory: 0.5 },
        { cpu: 0.5, memory: 0 },
      ],
    );
  }
  await first.stop();
  await pass(time, 3000);
  t.true(second.publishing);
  t.is(fields.at(-1)?.host, 'two');
  t.true(fields.at(-1)!.epoch > fields[0]!.epoch);
  await second.stop();
});

test('an aggregator that cannot renew its lease stops before another one starts', async (t) => {
  const time = new ManualTime();
  const bus = new MemoryBus(time);
  const only = runAggregator({
    broker: bus.connect(),
    clock: time,
    timers: time,
    intervalMs: 1000,
    host: 'one',
    boot: 'one-boot',
  });
  await pass(time, 1000);
  t.true(only.publishing);
  bus.takeDown();
  // The lease lasts .75 of a step; its owner gives up after half a step without a renewal.
  await pass(time, 1500);
  t.false(only.publishing);
  bus.bringUp();
  await pass(time, 1000);
  t.true(only.publishing);
  await only.stop();
});

for (const at of [0, 250, 500, 750, 990]) {
  test(`an aggregator that dies ${at} ms after a step is replaced within 1.5 steps`, async (t) => {
    const time = new ManualTime();
    const bus = new MemoryBus(time);
    let sequence = 0;
    const fields: { field: MeanField; at: number; newest: number }[] = [];
    const listener = bus.connect();
    listener.subscribe(subjects.meanField, (message) => {
      const decoded = decodeMeanField(message.data);
      if (decoded.ok)
        fields.push({ field: decoded.message, at: time.monotonic(), newest: sequence });
    });
    const brokers = [bus.connect(), bus.connect()];
    const start = (i: number) =>
      runAggregator({
        broker: brokers[i]!,
        clock: time,
        timers: time,
        intervalMs: 1000,
        host: `agg-${i}`,
      });
    const first = start(0);
    await settle();
    const second = start(1);
    const run = async (by: number): Promise<void> => {
      for (let i = 0; i < by; i += 10) {
        if (time.monotonic() % 500 === 0) {
          listener.publish(subjects.agentsPartial('a'), encodeMessage(partial('a', ++sequence)));
        }
        time.advance(millis(10));
        await settle();
      }
    };
    await run(3000 + at);
    t.true(first.publishing && !second.publishing);
    const died = time.monotonic();
    // As a process dies: its lease is not given back.
    await brokers[0]!.close();
    await run(1500);
    const next = fields.find(({ field, at: when }) => field.host === 'agg-1' && when > died);
    t.true(
      next !== undefined && next.at - died <= 1500,
      `published after ${(next?.at ?? Number.NaN) - died} ms`,
    );
    const last = fields.filter(({ field }) => field.host === 'agg-0').at(-1)!;
    // The newest batch of the agent host went to both, so nothing has to be collected again.
    t.is(next?.field.totals.members, 1);
    t.is(next?.field.batches[0]?.sequence, next?.newest);
    t.true(next!.field.epoch > last.field.epoch);
    await second.stop();
    await first.stop();
  });
}

test('a paused aggregator keeps its lease, publishes nothing and resumes', async (t) => {
  const time = new ManualTime();
  const bus = new MemoryBus(time);
  const listener = bus.connect();
  let published = 0;
  listener.subscribe(subjects.meanField, () => void published++);
  const only = runAggregator({
    broker: bus.connect(),
    clock: time,
    timers: time,
    intervalMs: 1000,
    host: 'one',
  });
  const ask = async (endpoint: 'list' | 'pause' | 'resume') => {
    const answer = callService(listener, { service: 'gleaner-aggregator', endpoint, host: 'one' });
    return aggregatorService[endpoint].answer.parse(await answer);
  };
  await pass(time, 1000);
  t.is(published, 1);
  t.is(only.latest?.sequence, 1);
  const { epoch, publishing, paused } = await ask('list');
  t.deepEqual({ publishing, paused }, { publishing: true, paused: false });
  const stopped = await ask('pause');
  t.true(only.paused);
  t.deepEqual(stopped, { ...stopped, publishing: false, paused: true, epoch });
  await pass(time, 2000);
  t.is(published, 1);
  t.is(only.latest, null);
  t.false(only.publishing);
  const resumed = await ask('resume');
  t.deepEqual(resumed, { ...resumed, publishing: true, paused: false, epoch });
  await pass(time, 1000);
  t.is(published, 2);
  t.true(only.publishing);
  await only.stop();
});

test('an aggregator without a lease publishes nothing and says so', async (t) => {
  const time = new ManualTime();
  const bus = new MemoryBus(time);
  const start = (host: string) =>
    runAggregator({ broker: bus.connect(), clock: time, timers: time, intervalMs: 1000, host });
  const first = start('one');
  await settle();
  const second = start('two');
  await pass(time, 2000);
  t.true(first.latest !== null);
  t.is(second.latest, null);
  const answer = await callService(bus.connect(), {
    service: 'gleaner-aggregator',
    endpoint: 'list',
    host: 'two',
  });
  const { publishing, epoch } = aggregatorService.list.answer.parse(answer);
  t.deepEqual({ publishing, epoch }, { publishing: false, epoch: null });
  await second.stop();
  await first.stop();
});

test('refused messages are counted by their reason', async (t) => {
  const time = new ManualTime();
  const bus = new MemoryBus(time);
  const only = runAggregator({
    broker: bus.connect(),
    clock: time,
    timers: time,
    intervalMs: 1000,
    host: 'one',
  });
  await settle();
  const sender = bus.connect();
  sender.publish(subjects.agentsPartial('a'), encodeMessage(partial('a', 2)));
  sender.publish(subjects.agentsPartial('a'), encodeMessage(partial('a', 2)));
  sender.publish(subjects.agentsPartial('a'), encodeMessage(partial('a', 1)));
  sender.publish(subjects.hostReport('h'), encodeMessage(report('h', 2, 0)));
  sender.publish(subjects.hostReport('h'), encodeMessage(report('h', 2, 0)));
  sender.publish(subjects.hostReport('h'), new TextEncoder().encode('{'));
  await settle();
  const answer = callService(sender, {
    service: 'gleaner-aggregator',
    endpoint: 'list',
    host: 'one',
  });
  await settle();
  const { refusals } = aggregatorService.list.answer.parse(await answer);
  const { repeated, out_of_order, reports } = refusals as Record<string, unknown>;
  t.deepEqual([repeated, out_of_order], [2, 1]);
  t.is((reports as { malformed: number }).malformed, 1);
  await only.stop();
});

test('an aggregator knows all parts, or that one may be missing', async (t) => {
  const time = new ManualTime();
  const bus = new MemoryBus(time);
  const start = (host: string) => {
    const broker = bus.connect();
    return runAggregator({ broker, clock: time, timers: time, intervalMs: 10_000, host });
  };
  const [one, two] = [start('one'), start('two')];
  const listener = bus.connect();
  const hostsOf = async (): Promise<[string, string[]][] | null> => {
    const call = { service: services.aggregator, endpoint: 'list', host: 'one' };
    const { instances } = aggregatorService.list.answer.parse(await callService(listener, call));
    if (instances === null) return null;
    return Object.entries(instances!).map(([name, hosts]) => [name, Object.values(hosts).sort()]);
  };
  await pass(time, 1000);
  t.is(await hostsOf(), null, 'others may be announced within ten seconds');
  await pass(time, 15_000);
  const both: [string, string[]][] = [[services.aggregator, ['one', 'two']]];
  t.deepEqual(await hostsOf(), both);
  // This host's hook announces nothing: it is of an older version.
  listener.publish(subjects.hostReport('h'), encodeMessage(report('h', 1, 0)));
  await settle();
  t.is(await hostsOf(), null);
  const instance = { service: services.hook, host: 'h', id: 'id-of-h' } as const;
  const cancel = announce(listener, time, instance);
  await settle();
  t.deepEqual(await hostsOf(), [...both, [services.hook, ['h']]]);
  cancel();
  await pass(time, 16_000);
  t.deepEqual(await hostsOf(), both);
  await two.stop();
  await settle();
  t.deepEqual(await hostsOf(), [[services.aggregator, ['one']]]);
  listener.publish(subjects.announcement('i'), new TextEncoder().encode('{"v":1}'));
  await settle();
  t.is(await hostsOf(), null, 'one was refused');
  await pass(time, 16_000);
  t.deepEqual(await hostsOf(), [[services.aggregator, ['one']]]);
  bus.takeDown();
  await pass(time, 500);
  bus.bringUp();
  await settle();
  t.is(await hostsOf(), null, 'some may have come during the outage');
  await one.stop();
});
