import test from 'ava';
import { TrajectoryWriter } from '../../../agents/host/index.js';
import type { TrajectoryStep } from '../../../agents/simppo/index.js';
import { streams, subjects, wildcards } from '../../../broker/index.js';
import { decodeTrajectory } from '../../../broker/messages/index.js';
import { millis } from '../../../config/index.js';
import { ManualTime } from '../../support/manual-time.js';
import { MemoryBus } from '../../support/memory-broker/memory-bus.js';
import { settle } from '../../support/settle.js';

const step: TrajectoryStep = {
  fn: '/guest/f',
  manager: 'simppo',
  invoker: 'invoker-1',
  policy: 'own',
  updates: 3,
  sampled: true,
  episode: 1,
  step: 4,
  state: new Float32Array([0.1, 0.25]),
  mask: new Uint8Array([1, 0, 1]),
  action: 2,
  logProbability: -0,
  reward: 0.123456789,
  discount: 0.9,
  span: 10_000,
};
/** Steps are batched for 250 ms. */
const gathered = async (time: ManualTime): Promise<void> => {
  time.advance(millis(250));
  await settle();
};
const author = { host: 'agents-1', boot: 'boot1' };
const stored = (bus: MemoryBus) =>
  bus
    .connect()
    .stream(streams.trajectories, { subjects: [wildcards.trajectories], maxBytes: 1 })
    .read(1, 1000);

test('steps are written to the stream on their function’s subject', async (t) => {
  const bus = new MemoryBus();
  const time = new ManualTime();
  const writer = new TrajectoryWriter(bus.connect(), author, time);
  writer.write(step);
  writer.write({ ...step, step: 5 });
  await settle();
  t.is(writer.counts.written, 0, 'gathered first');
  await gathered(time);
  const records = await stored(bus);
  t.deepEqual(
    records.map(({ subject }) => subject),
    [subjects.trajectory('/guest/f'), subjects.trajectory('/guest/f')],
  );
  const [first, second] = records.map(({ data }) => decodeTrajectory(data));
  t.true(first?.ok && second?.ok);
  if (!first?.ok || !second?.ok) return;
  t.deepEqual(first.message.author, {
    host: 'agents-1',
    boot: 'boot1',
    sequence: 1,
    manager: 'simppo',
    policy: 'own',
    updates: 3,
    sampled: true,
  });
  // A Float32Array's .1 is 0.10000000149: six digits of it are .1 again. -0 is sent as 0.
  t.deepEqual(
    [first.message.state, first.message.mask, first.message.reward],
    [[0.1, 0.25], [1, 0, 1], 0.123457],
  );
  t.true(Object.is(first.message.logProbability, 0));
  t.deepEqual([second.message.step, second.message.author.sequence], [5, 2]);
  t.deepEqual(writer.counts, { written: 2, dropped: 0, failures: 0 });
});

test('while NATS is away the newest steps wait, and older ones are dropped', async (t) => {
  const bus = new MemoryBus();
  const time = new ManualTime();
  const writer = new TrajectoryWriter(bus.connect(), author, time);
  bus.takeDown();
  // 2048 wait.
  for (let i = 0; i < 2050; i++) writer.write({ ...step, step: i });
  await gathered(time);
  t.deepEqual(writer.counts, { written: 0, dropped: 2, failures: 0 });
  bus.bringUp();
  // One more drops the oldest.
  writer.write({ ...step, step: 2050 });
  await gathered(time);
  for (let i = 0; i < 20; i++) await settle();
  t.deepEqual(writer.counts, { written: 2048, dropped: 3, failures: 0 });
  const records = await bus
    .connect()
    .stream(streams.trajectories, { subjects: [wildcards.trajectories], maxBytes: 1 })
    .read(1, 5000);
  const steps = records
    .map(({ data }) => decodeTrajectory(data))
    .map((each) => (each.ok ? each.message.step : -1));
  t.deepEqual(
    steps,
    Array.from({ length: 2048 }, (_, i) => i + 3),
  );
});

test('of many steps at most 256 are in flight, and all are written', async (t) => {
  const time = new ManualTime();
  const writer = new TrajectoryWriter(new MemoryBus().connect(), author, time);
  for (let i = 0; i < 300; i++) writer.write(step);
  await gathered(time);
  for (let i = 0; i < 5; i++) await settle();
  t.deepEqual(writer.counts, { written: 300, dropped: 0, failures: 0 });
});

test('steps that wait are sent when an agent host stops', async (t) => {
  const bus = new MemoryBus();
  const writer = new TrajectoryWriter(bus.connect(), author, new ManualTime());
  writer.write(step);
  writer.flush();
  await settle();
  t.is((await stored(bus)).length, 1);
});
