import test from 'ava';
import { META_FEATURES, metaFeatures, metaReward, NO_RATES } from '../../../agents/aware/index.js';
import { SeededRandom } from '../../../config/index.js';
import {
  actionOf,
  afterAction,
  allocationMask,
  INITIAL,
  RANGES,
} from '../../../experiments/aware/allocation.js';
import { type Demand, demandOf } from '../../../experiments/aware/demand.js';
import { callsPerCore } from '../../../experiments/aware/rule-based.js';
import {
  AwareSystem,
  latencyOf,
  queueing,
  type SystemSnapshot,
  sloOf,
} from '../../../experiments/aware/system.js';
import { appsOf } from '../../../experiments/aware/training-thread.js';
import { AllocationTable, LoadForecast } from '../../../experiments/aware/transfer.js';

/** 10 activations a second of .1 core-s each, nothing that varies: one core. */
const steady: Demand = {
  id: 1,
  cpu: 0.1,
  wait: 0.05,
  idleMiB: 50,
  activationMiB: 10,
  rate: 10,
  swing: 0,
  period: 60,
  noise: 0,
};
const near = (a: number, b: number, by = 1e-9): boolean => Math.abs(a - b) <= by;

test('the wait of M/M/1 at a load of .5 is one service time, at .8 four', (t) => {
  // rho / (1 - rho); Sakasegawa's exponent for k = 1 is sqrt 4 - 1 = 1.
  t.true(near(queueing(0.5, 1), 1));
  t.true(near(queueing(0.8, 1), 4, 1e-9));
});

test('latency by hand: one core at a load of .5, and half a core that is slower', (t) => {
  // 5 activations a second x .1 = .5 of one core: wait .05 + service .1 + queue .1; p99: 2 x .15 +
  // ln 100 x .1.
  const { mean, p99 } = latencyOf(steady, 5, { cpu: 1, memory: 512, containers: 1 });
  t.true(near(mean, 0.25));
  t.true(near(p99, 0.3 + Math.log(100) * 0.1));
  // Two containers of half a core: service .2 on each, 2 servers, load .5: exponent sqrt 6 - 1, /
  // (2 x .5).
  const slow = latencyOf(steady, 5, { cpu: 0.5, memory: 512, containers: 2 });
  t.true(near(slow.mean, 0.05 + 0.2 + 0.2 * 0.5 ** (Math.sqrt(6) - 1)));
});

test('vertical scaling has an effect, and it is the right one', (t) => {
  const at = (cpu: number): number => latencyOf(steady, 5, { cpu, memory: 512, containers: 2 }).p99;
  t.true(at(0.5) > at(1) && at(1) > at(2));
});

test('a step by hand: use, utilization, backlog', (t) => {
  const system = new AwareSystem(steady, 1);
  // 10 activations x .1 = 1 core on 2: half of it is used.
  const half = system.step({ cpu: 1, memory: 512, containers: 2 });
  t.true(near(half.cpuUtilization, 0.5) && near(half.cpuUse, 1));
  // On half a core 10 core-s come in 10 s and 5 are done; the next step has 5 more.
  const short = system.step({ cpu: RANGES.cpu.least, memory: 512, containers: 1 });
  t.is(short.cpuUtilization, 1);
  t.true(short.preservation < 0.2, `${short.preservation}`);
  const room = system.step({ cpu: 2.048, memory: 512, containers: 20 });
  // 8.72 core-s were left over (10 - 1.28, below the client timeout of 30 s: 3.84): 3.84 + 10 in 10
  // s are 1.384 cores.
  t.true(near(room.cpuUse, 1.384, 1e-9), `${room.cpuUse}`);
});

test('memory: what does not fit is killed, and the SLO with it', (t) => {
  const system = new AwareSystem({ ...steady, activationMiB: 100 }, 1);
  const snapshot = system.step({ cpu: 2, memory: 128, containers: 4 });
  t.is(snapshot.oomKills, 4);
  t.true(snapshot.preservation < 0.1);
  t.is(snapshot.memoryUtilization, 1);
});

test('the reward is .7 x preservation + .15 x each utilization, at most 1', (t) => {
  const snapshot = { preservation: 1, cpuUtilization: 1, memoryUtilization: 1 } as SystemSnapshot;
  t.is(metaReward(snapshot), 1);
  t.true(metaReward({ ...snapshot, preservation: 0.5 }) < metaReward(snapshot));
  t.true(near(metaReward({ ...snapshot, cpuUtilization: 0, memoryUtilization: 1 }), 0.85));
  t.true(
    near(metaReward({ ...snapshot, cpuUtilization: 1, memoryUtilization: 0 }), 0.85),
    'both count alike',
  );
});

test('the SLO is the knee of the load curve plus 10 %: a load of .7 holds it', (t) => {
  const containers = Math.ceil(1 / 0.7);
  const knee = latencyOf(steady, (0.7 * containers) / 0.1, { cpu: 1, memory: 512, containers }).p99;
  t.true(near(sloOf(steady), 1.1 * knee));
});

test('each bound belongs to its own dimension; a mask bars what would leave it', (t) => {
  const mask = (allocation: typeof INITIAL) => [...allocationMask(allocation, new Uint8Array(7))];
  const least = { cpu: 0.128, memory: 64, containers: 1 };
  const most = { cpu: 2.048, memory: 1024, containers: 20 };
  // stay, cpu up, cpu down, memory up, memory down, out, in
  t.deepEqual(mask(least), [1, 1, 0, 1, 0, 1, 0]);
  t.deepEqual(mask(most), [1, 0, 1, 0, 1, 0, 1]);
  t.deepEqual(mask(INITIAL), [1, 1, 1, 1, 1, 1, 1]);
  for (let action = 0; action < 7; action++) {
    const { cpu, memory, containers } = afterAction(least, action);
    t.true(cpu >= 0.128 && memory >= 64 && containers >= 1);
  }
});

test('a free move is mapped to the action of the dimension that changes most', (t) => {
  t.is(actionOf(INITIAL, INITIAL), 0);
  t.is(actionOf(INITIAL, { ...INITIAL, containers: 6, cpu: 1.152 }), 5);
  t.is(actionOf(INITIAL, { ...INITIAL, memory: 128, containers: 6 }), 4);
  t.is(actionOf(INITIAL, { ...INITIAL, cpu: 0.5 }), 2);
  for (let action = 0; action < 7; action++)
    t.is(actionOf(INITIAL, afterAction(INITIAL, action)), action);
});

test('features are in [0, 1] for every training application with any allocation', (t) => {
  const random = new SeededRandom(3);
  const to = new Float32Array(META_FEATURES.length);
  for (const app of appsOf('train').slice(0, 60)) {
    const system = new AwareSystem(demandOf(app), 1);
    for (let i = 0; i < 20; i++) {
      const snapshot = system.step({
        cpu: 2.048 * random.next(),
        memory: 1024 * random.next(),
        containers: 20 * random.next(),
      });
      metaFeatures(snapshot, NO_RATES, to);
      t.true(
        to.every((value) => value >= 0 && value <= 1),
        `${app.id}: ${[...to].join(' ')}`,
      );
    }
  }
});

test('parts: 800 applications to learn from, 200 held out, none in two', (t) => {
  const [train, validation, held] = (['train', 'validation', 'test'] as const).map((part) =>
    appsOf(part).map(({ id }) => id),
  );
  t.deepEqual([train!.length + validation!.length, held!.length], [800, 200]);
  t.is(new Set([...train!, ...validation!, ...held!]).size, 1000);
});

test('a larger payload needs more cores, another load another rate, at most 16 cores', (t) => {
  for (const app of appsOf('train').slice(0, 100)) {
    const before = demandOf(app);
    const grown = demandOf(app, { grown: 'matrix' });
    t.is(grown.rate, before.rate);
    t.true(grown.cpu >= before.cpu);
    t.is(app.segments.includes('matMul'), grown.cpu > before.cpu);
    t.true(grown.rate * grown.cpu <= 16 + 1e-9);
    t.true(
      demandOf(app, { activationsPerDay: 10_000 }).rate <=
        demandOf(app, { activationsPerDay: 200_000 }).rate,
    );
  }
});

test('activations that keep a core busy: 1 without waits, 11 with ten times the wait', (t) => {
  t.is(callsPerCore({ ...steady, wait: 0 }), 1);
  t.is(callsPerCore({ ...steady, wait: 1 }), 11);
});

test('the forecast learns that each difference is half of the last', (t) => {
  const forecast = new LoadForecast();
  let rate = 0;
  let ahead = 0;
  for (let step = 1, size = 1; step <= 12; step++, size /= 2) {
    rate += size;
    ahead = forecast.next(rate);
  }
  // Twelve steps in, the last one was 1 / 2048, the next is 1 / 4096.
  t.true(near(ahead - rate, 1 / 4096, 1e-6), `${ahead - rate}`);
});

test('the allocation table returns what was last observed, and its default otherwise', (t) => {
  const table = new AllocationTable();
  const snapshot = { allocation: INITIAL, preservation: 0.4 } as SystemSnapshot;
  t.is(table.of(INITIAL), 0.5);
  table.see(snapshot);
  t.is(table.of(INITIAL), 0.4);
  table.see({ ...snapshot, preservation: 0.9 });
  t.true(near(table.of(INITIAL), 0.55));
});
