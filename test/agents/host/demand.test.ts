import test from 'ava';
import { runAgentHost } from '../../../agents/host/index.js';
import { createManager } from '../../../agents/managers/index.js';
import { subjects } from '../../../broker/index.js';
import { runAggregator } from '../../../broker/mean-field/index.js';
import { decodeMeanField, encodeMessage, type MeanField } from '../../../broker/messages/index.js';
import {
  MIB,
  type Millicores,
  type Millis,
  mebibytes,
  millis,
  SeededRandom,
} from '../../../config/index.js';
import { closeStep, hostReport } from '../../../openwhisk-plugin/control/index.js';
import { FakeHost } from '../../openwhisk-plugin/control/fake-host.js';
import { decider, limits } from '../../openwhisk-plugin/decision/helpers.js';
import { ManualTime } from '../../support/manual-time.js';
import { MemoryBus } from '../../support/memory-broker/memory-bus.js';

const STEP_MS = 1000;
const HOST = 'invoker-1';

/** A host of eight cores, an agent host and the aggregator, each with its own connection. */
function stage(functions: number) {
  const time = new ManualTime();
  const bus = new MemoryBus(time);
  const rules = decider({ controlShare: 1, cpuReserve: 0 as Millicores });
  const fake = new FakeHost(rules);
  const hook = bus.connect();
  const common = { clock: time, timers: time, intervalMs: STEP_MS };
  const aggregator = runAggregator({ ...common, broker: bus.connect(), host: 'aggregator' });
  const agents = runAgentHost({
    ...common,
    broker: bus.connect(),
    random: new SeededRandom(1),
    manager: createManager('greedy', {
      cap: { cpu: 4000 as Millicores, memory: mebibytes(1024) },
    }),
    host: 'agents-1',
  });
  let field: MeanField | null = null;
  bus.connect().subscribe(subjects.meanField, ({ data }) => {
    const decoded = decodeMeanField(data);
    if (decoded.ok) field = decoded.message;
  });
  const containers = Array.from({ length: functions }, (_, i) =>
    fake.container(limits(256, 1), `/guest/f${i}`),
  );
  let sequence = 0;
  /** A second, in which each function runs one activation after the other, or none. */
  const second = async (runs: boolean): Promise<MeanField | null> => {
    for (let tenth = 0; tenth < 10; tenth++) {
      const running = runs ? containers.map((container) => fake.request(container)) : [];
      for (const container of containers) {
        container.sample.at = fake.now;
      }
      fake.now = (fake.now + 100) as Millis;
      for (const activation of running) fake.answer(activation);
      time.advance(millis(100));
      for (let i = 0; i < 100; i++) await Promise.resolve();
    }
    const at = { host: HOST, boot: 'hook' };
    for (const record of fake.records.values()) {
      const observation = closeStep(record, at, rules, fake.now);
      if (observation !== null)
        hook.publish(subjects.observation(record.action), encodeMessage(observation));
    }
    const state = { containers: functions, running: 0, mode: 'enforce' } as const;
    const { load } = fake.controller;
    const sender = { ...at, sequence: ++sequence };
    const report = hostReport(sender, rules, load, fake.records.values(), state, fake.now);
    hook.publish(subjects.hostReport(HOST), encodeMessage(report));
    return field;
  };
  const stop = () => Promise.all([aggregator.stop(), agents.stop()]);
  return { second, stop };
}

const isNear = (value: number, expected: number): boolean =>
  Math.abs(value - expected) <= 0.01 * expected;

test('ten functions that run all the time ask for ten cores, idle ones for none', async (t) => {
  const { second, stop } = stage(10);
  let field: MeanField | null = null;
  for (let i = 0; i < 6; i++) field = await second(true);
  const { totals, hosts } = field!;
  t.is(totals.members, 10);
  t.true(isNear(totals.demand.cpu, 10_000), `${totals.demand.cpu}`);
  t.true(isNear(totals.demand.memory, 2560 * MIB), `${totals.demand.memory}`);
  // 10 of 8 cores: the price is the excess, .25.
  t.true(isNear(hosts[0]!.occupancy.cpu, 1.25), `${hosts[0]!.occupancy.cpu}`);
  t.true(isNear(hosts[0]!.price.cpu, 0.25), `${hosts[0]!.price.cpu}`);
  t.true(hosts[0]!.weights! > 0);
  // An agent leaves the sums three intervals after its last observation.
  for (let i = 0; i < 6; i++) field = await second(false);
  t.deepEqual(
    [field!.totals.demand.cpu, field!.totals.demand.memory, field!.hosts[0]!.weights],
    [0 as Millicores, mebibytes(0), 0],
  );
  t.deepEqual(field!.hosts[0]!.occupancy, { cpu: 0, memory: 0 });
  t.deepEqual(field!.hosts[0]!.price, { cpu: 0, memory: 0 });
  await stop();
});
