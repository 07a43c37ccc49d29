import test from 'ava';
import fc from 'fast-check';
import { type Bytes, MIB, type Micros, type Millicores } from '../../../config/index.js';
import { Demand } from '../../../openwhisk-plugin/control/demand.js';
import { closeStep, hostReport } from '../../../openwhisk-plugin/control/index.js';
import { MeanLevel } from '../../../openwhisk-plugin/control/mean-level.js';
import { decider, limits } from '../decision/helpers.js';
import { FakeHost } from './fake-host.js';

const at = { host: 'h', boot: 'b' };

/** A host of eight cores on which every activation asks for its user's limit. */
function stage() {
  const rules = decider({ controlShare: 1, cpuReserve: 0 as Millicores });
  const fake = new FakeHost(rules);
  const state = { containers: 0, running: 0, mode: 'enforce' } as const;
  const report = () =>
    hostReport(
      { ...at, sequence: 1 },
      rules,
      fake.controller.load,
      fake.records.values(),
      state,
      fake.now,
    );
  const observed = (action: string) => closeStep(fake.records.get(action)!, at, rules, fake.now)!;
  return { fake, report, observed };
}

/** Within 1 %. */
const isNear = (value: number, expected: number): boolean =>
  Math.abs(value - expected) <= 0.01 * expected;

test('the means of all intervals add up to the integral of the level', (t) => {
  const step = fc.record({
    level: fc.double({ min: 0, max: 1e5, noNaN: true }),
    lasts: fc.integer({ min: 0, max: 60_000 }),
    isRead: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), (steps) => {
      const mean = new MeanLevel();
      let now = 1000;
      let since = now;
      let [integral, sum] = [0, 0];
      const read = (): void => {
        sum += mean.take(now) * (now - since);
        since = now;
      };
      for (const { level, lasts, isRead } of steps) {
        mean.set(level, now);
        now += lasts;
        integral += level * lasts;
        if (isRead) read();
      }
      read();
      return Math.abs(sum - integral) <= 1e-9 * (1 + integral);
    }),
  );
  t.pass();
});

test('the demand of all intervals adds up to what was asked for while it was asked for', (t) => {
  const step = fc.record({
    cpu: fc.integer({ min: 0, max: 8000 }),
    memory: fc.integer({ min: 0, max: 2 ** 33 }),
    lasts: fc.integer({ min: 0, max: 60_000 }),
    isRead: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), (steps) => {
      const demand = new Demand();
      let now = 1000;
      let since = now;
      const level = { cpu: 0, memory: 0 };
      const integral = { cpu: 0, memory: 0 };
      const sum = { cpu: 0, memory: 0 };
      const read = (): void => {
        const mean = demand.take(now);
        if (now === since) t.deepEqual(mean, level);
        sum.cpu += mean.cpu * (now - since);
        sum.memory += mean.memory * (now - since);
        since = now;
      };
      for (const { cpu, memory, lasts, isRead } of steps) {
        demand.add(cpu - level.cpu, memory - level.memory, now);
        Object.assign(level, { cpu, memory });
        now += lasts;
        integral.cpu += cpu * lasts;
        integral.memory += memory * lasts;
        if (isRead) read();
      }
      read();
      const isSame = (a: number, b: number) => Math.abs(a - b) <= 1e-9 * (1 + b);
      return isSame(sum.cpu, integral.cpu) && isSame(sum.memory, integral.memory);
    }),
  );
});

test('a level that was never set is 0, and within an instant the mean is the level', (t) => {
  const mean = new MeanLevel();
  t.is(mean.take(5), 0);
  mean.set(7, 10);
  t.is(mean.take(10), 0, 'five at 0');
  t.is(mean.take(10), 7);
  mean.set(1, 20);
  t.is(mean.take(20), 7);
});

test('functions that ask for one core all the time ask for one each', (t) => {
  const { fake, report, observed } = stage();
  const actions = Array.from({ length: 10 }, (_, i) => `/guest/f${i}`);
  const containers = actions.map((action) => fake.container(limits(256, 1), action));
  let running = containers.map((container) => fake.request(container));
  report();
  for (let second = 0; second < 10; second++) {
    for (const container of containers) fake.pass(container, 100, 0.3);
    for (const activation of running) fake.answer(activation);
    running = containers.map((container) => fake.request(container));
  }
  const { demand } = report();
  // Ten limits of one core and of 256 MiB.
  t.true(isNear(demand.cpu, 10_000), `${demand.cpu}`);
  t.true(isNear(demand.memory, 2560 * MIB), `${demand.memory}`);
  for (const action of actions) {
    const own = observed(action).demand;
    t.true(isNear(own.cpu, 1000), `${action} ${own.cpu}`);
    t.true(isNear(own.memory, 256 * MIB), `${action} ${own.memory}`);
  }
});

test('demand is the limit times the share of the time in which something ran', (t) => {
  const { fake, report, observed } = stage();
  const container = fake.container(limits(256, 2));
  report();
  // 1 s of 4 s at two cores; the interval of a function begins with its first activation.
  const activation = fake.request(container);
  fake.pass(container, 1000, 1);
  fake.answer(activation);
  fake.pass(container, 3000, 0);
  t.is(report().demand.cpu, 500 as Millicores);
  t.is(observed('/guest/f').demand.cpu, 500 as Millicores);
  fake.pass(container, 10_000, 0);
  const idle = report();
  t.deepEqual(idle.demand, { cpu: 0 as Millicores, memory: 0 as Bytes });
  t.is(idle.functions, 1, 'it is still active');
  t.is(idle.weights, 0);
});

test('an activation that has not ended counts', (t) => {
  const { fake, report } = stage();
  const container = fake.container(limits(256, 2));
  report();
  fake.request(container);
  fake.pass(container, 5000, 1);
  t.is(report().demand.cpu, 2000 as Millicores);
});

test('activations in one container ask for its limit once', (t) => {
  const { fake, report } = stage();
  const container = fake.container(limits(256, 2));
  const first = fake.request(container);
  fake.request(container);
  report();
  fake.pass(container, 1000, 1);
  fake.answer(first);
  fake.pass(container, 1000, 1);
  t.is(report().demand.cpu, 2000 as Millicores);
});

test('a host reports the time that containers waited for a CPU, per core and second', (t) => {
  const { fake, report } = stage();
  const container = fake.container(limits(256, 2));
  const activation = fake.request(container);
  container.waiting = 0;
  report();
  fake.pass(container, 1000, 1);
  t.is(report().pressure, undefined, 'the kernel has reported nothing');
  fake.pass(container, 1000, 1);
  // 400 ms of a second, on eight cores.
  container.sample.waiting = 400_000 as Micros;
  fake.controller.observe(container, container.sample, fake.record, fake.now);
  t.is(report().pressure, 0.05);
  fake.pass(container, 1000, 1);
  fake.answer(activation);
  t.is(report().pressure, 0);
});

test('a host reports the weights in force of what runs, averaged over time', (t) => {
  const { fake, report } = stage();
  const container = fake.container(limits(256, 2));
  const other = fake.container(limits(512, 2), '/guest/g');
  report();
  const activation = fake.request(container);
  fake.pass(container, 1000, 1);
  fake.request(other);
  fake.pass(container, 1000, 1);
  fake.answer(activation);
  // The first ran for 2 s and the second for 1 s of 2 s.
  t.is(report().weights, container.shares + other.shares / 2);
});
