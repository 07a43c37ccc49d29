import test from 'ava';
import { type Bytes, MIB, type Millis } from '../../../config/index.js';
import { controlShare, Objectives } from '../../../openwhisk-plugin/decision/control-arm.js';
import { HostReference } from '../../../openwhisk-plugin/decision/host-reference.js';
import {
  cpuSpikeLevel,
  defaultDecisionSettings,
  FunctionState,
  hostSlowerThanControl,
  MemoryHeadroom,
  memorySpikeLevel,
  slowerThanControl,
} from '../../../openwhisk-plugin/decision/index.js';
import { shortRunQuota } from '../../../openwhisk-plugin/decision/quota.js';
import { freyrSettings } from '../../../openwhisk-plugin/decision/settings.js';
import { adjustWeightExponent } from '../../../openwhisk-plugin/decision/slowdown-bound.js';
import {
  DecayingHistogram,
  DecayingMean,
  DecayingPeak,
} from '../../../openwhisk-plugin/decision/statistics.js';
import {
  scaleShares,
  shortFirstFactor,
  targetFactor,
} from '../../../openwhisk-plugin/decision/weights.js';
import { decider, limits, Player, plain } from './helpers.js';

const HOUR = 3_600_000;

function fn(action = '/g/f'): FunctionState {
  return new FunctionState(action, '1', limits(256), 'guarantee', 1);
}

test('a peak halves in an hour, but never below the newest eight runs', (t) => {
  const peak = new DecayingPeak();
  peak.add(100, 0, HOUR);
  t.is(peak.read(24 * HOUR, HOUR), 100, 'without newer runs nothing is forgotten');
  for (let i = 0; i < 8; i++) peak.add(10, HOUR, HOUR);
  t.is(peak.read(HOUR, HOUR), 50);
  t.is(peak.read(2 * HOUR, HOUR), 25);
  t.is(peak.read(9 * HOUR, HOUR), 10);
  peak.add(Number.NaN, 0, HOUR);
  peak.add(Number.POSITIVE_INFINITY, 0, HOUR);
  t.is(peak.count, 9);
});

test('a decaying mean weighs a sample one half-life old by half', (t) => {
  const mean = new DecayingMean();
  t.is(mean.mean, Number.NaN);
  mean.add(10, 0, HOUR);
  mean.add(40, HOUR, HOUR);
  t.is(mean.mean, (5 + 40) / 1.5);
  t.is(mean.weight, 1.5);
});

test('percentiles are at most 5 % too high, and older samples count less', (t) => {
  const histogram = new DecayingHistogram();
  t.is(histogram.percentile(0.5), Number.NaN);
  for (let i = 1; i <= 100; i++) histogram.add(i, 0, HOUR);
  for (const share of [0.5, 0.95, 0.99, 1]) {
    const value = histogram.percentile(share);
    t.true(value >= share * 100 * 0.999 && value <= share * 100 * 1.051, `${share}: ${value}`);
  }
  // 100 half-lives later one sample outweighs them all; 2000 later nothing overflows.
  histogram.add(1000, 100 * HOUR, HOUR);
  t.true(histogram.percentile(0.5) >= 1000);
  histogram.add(5, 2000 * HOUR, HOUR);
  const last = histogram.percentile(0.99);
  t.true(last >= 5 && last <= 5.25);
  histogram.add(1e12, 2000 * HOUR, HOUR);
  t.true(Number.isFinite(histogram.percentile(1)));
});

// quota x period >= p95 CPU-ms if it fits in one period. user in millicores, period 100 ms.
for (const [p95, duration, user, expected] of [
  [60, 300, 2000, 600],
  [100, 300, 1000, 1000],
  [100.1, 300, 2000, 0], // more than one core's period, and the run is longer than a period
  [300, 90, 4000, 3000], // four threads, over within the period
  [300, 90, 2000, 0], // the user's own quota cuts it too
  [Number.NaN, 90, 2000, 0],
  [0, 90, 2000, 0],
] as const) {
  test(`a quota for ${p95} CPU-ms in ${duration} ms under ${user} millicores: ${expected}`, (t) => {
    t.is(shortRunQuota(p95, duration, user, 100_000), expected);
  });
}

test('short-first: (reference / expected)^alpha within 1/16 and 16; none if unknown', (t) => {
  t.is(shortFirstFactor(100, 200, 1, 1 / 16, 16), 2);
  t.is(shortFirstFactor(400, 100, 0.5, 1 / 16, 16), 0.5);
  t.is(shortFirstFactor(1, 100, 1, 1 / 16, 16), 16);
  t.is(shortFirstFactor(10_000, 100, 1, 1 / 16, 16), 1 / 16);
  t.is(shortFirstFactor(10_000, 100, 0, 1 / 16, 16), 1);
  t.is(shortFirstFactor(Number.NaN, 100, 1, 1 / 16, 16), Number.NaN);
  t.is(shortFirstFactor(100, Number.NaN, 1, 1 / 16, 16), Number.NaN);
  t.is(shortFirstFactor(0, 100, 1, 1 / 16, 16), Number.NaN);
});

test('weights are whole numbers from 2 to 262144, as the kernel and Docker accept', (t) => {
  t.is(scaleShares(128, 1 / 16), 8);
  t.is(scaleShares(2, 1 / 16), 2);
  t.is(scaleShares(200_000, 16), 262_144);
  t.is(scaleShares(128, Number.NaN), 128);
  t.is(scaleShares(128, -1), 128);
  t.is(scaleShares(128, Number.POSITIVE_INFINITY), 128);
});

test('an agent multiplies a weight by a quarter to four', (t) => {
  t.is(targetFactor(1000, 1000), 1);
  t.is(targetFactor(5000, 1000), 4);
  t.is(targetFactor(10, 1000), 0.25);
  t.is(targetFactor(Number.NaN, 1000), 1);
  t.is(targetFactor(Number.POSITIVE_INFINITY, 1000), 1);
});

test('the host’s reference is the geometric mean of its functions by CPU time', (t) => {
  const reference = new HostReference();
  t.is(reference.value, Number.NaN);
  const [a, b] = [fn('/g/a'), fn('/g/b')];
  for (let i = 0; i < 100; i++) {
    a.expectedCpu.add(10, 0, HOUR);
    reference.update(a, 0, HOUR);
  }
  b.expectedCpu.add(1000, 0, HOUR);
  reference.update(b, 0, HOUR);
  // Both have used a second.
  t.true(Math.abs(reference.value - 100) < 1e-9);
  // An hour later only `a` is called: 510 ms of it count, and 500 of b.
  a.expectedCpu.add(10, HOUR, HOUR);
  reference.update(a, HOUR, HOUR);
  t.true(Math.abs(reference.value - 10 ** ((510 + 3 * 500) / 1010)) < 1e-6);
  reference.remove(a);
  t.true(Math.abs(reference.value - 1000) < 1e-6);
  // Months later the weights have been scaled back and nothing overflows.
  a.expectedCpu.add(10, 5000 * HOUR, HOUR);
  reference.update(a, 5000 * HOUR, HOUR);
  t.true(Math.abs(reference.value - 10) < 1e-3);
});

test('alpha falls by a quarter at a slowdown above 1.25, and recovers by .05', (t) => {
  const f = fn();
  f.weightFactor = 0.25;
  for (let i = 0; i < 10; i++) f.addControl(100, 0, HOUR);
  const managed = (duration: number, runs: number): void => {
    for (let i = 0; i < runs; i++) {
      f.sinceAlpha.add(duration, 0, HOUR);
      adjustWeightExponent(f, plain);
    }
  };
  managed(126, 19);
  t.is(f.alpha, 1, 'nineteen runs say nothing');
  managed(126, 1);
  t.is(f.alpha, 0.75);
  managed(126, 20);
  t.is(f.alpha, 0.5625);
  managed(120, 200);
  t.is(f.alpha, 0.5625, 'between (1 + 1.25)/2 and 1.25 it stays');
  f.sinceAlpha.forget();
  managed(105, 20);
  t.true(Math.abs(f.alpha - 0.6125) < 1e-12);
  // Who does not pay is no reason to change anything: slower for another cause.
  const other = fn();
  other.weightFactor = 4;
  for (let i = 0; i < 10; i++) other.addControl(100, 0, HOUR);
  for (let i = 0; i < 50; i++) {
    other.sinceAlpha.add(500, 0, HOUR);
    adjustWeightExponent(other, plain);
  }
  t.is(other.alpha, 1);
});

test('a function keeps an eighth of its weight until its control arm allows less', (t) => {
  const f = fn();
  f.weightFactor = 0.25;
  const managed = (duration: number, runs: number): void => {
    for (let i = 0; i < runs; i++) {
      f.sinceAlpha.add(duration, 0, HOUR);
      adjustWeightExponent(f, plain);
    }
  };
  managed(100, 50);
  t.is(f.minWeightFactor, 1 / 8, 'no control run, no proof');
  for (let i = 0; i < 10; i++) f.addControl(100, 0, HOUR);
  managed(100, 1);
  t.is(f.minWeightFactor, 1 / 16);
  managed(100, 100);
  t.is(f.minWeightFactor, 1 / 16, 'never below the clamp');
  f.sinceAlpha.forget();
  managed(130, 20);
  t.deepEqual([f.minWeightFactor, f.alpha], [1 / 8, 0.75]);
});

test('the control arm is twice its share without samples, and its share from 200 on', (t) => {
  const f = fn();
  const s = defaultDecisionSettings;
  t.true(Math.abs(controlShare(f, s) - 0.06) < 1e-12);
  for (let i = 0; i < 100; i++) f.addControl(10, 0, HOUR);
  t.true(Math.abs(controlShare(f, s) - 0.045) < 1e-12);
  for (let i = 0; i < 100; i++) f.addControl(10, 0, HOUR);
  t.is(controlShare(f, s), 0.03);
  f.controlArm = false;
  t.is(controlShare(f, s), 0);
  t.is(controlShare(fn(), plain), 0);
});

test('an objective is configured, or 1.2 x the p99 of 200 warm control runs', (t) => {
  const s = defaultDecisionSettings;
  const objectives = new Objectives();
  const f = fn();
  t.is(objectives.provisionalSlo(f, s), Number.NaN);
  f.addControl(100, 0, HOUR);
  // One run of 100 ms, shape unknown: (1 x 100 + 20 x 3 x 100) / 21 x 1.2 = 348.6; the histogram
  // may be 5 % high.
  const one = objectives.provisionalSlo(f, s);
  t.true(one > 348 && one < 349 + 0.3);
  t.is(objectives.slo(f, s), Number.NaN, 'learning');
  for (let i = 0; i < 199; i++) f.addControl(i < 194 ? 100 : 1000, 0, HOUR);
  // 5 of 200 at 1000: the p99 is 1000.
  const many = objectives.slo(f, s);
  t.true(many >= 1200 && many <= 1260.001);
  t.is(objectives.provisionalSlo(f, s), many);
  f.configuredSlo = 77;
  t.is(objectives.slo(f, s), 77);
});

test('cold starts change no objective', (t) => {
  const s = defaultDecisionSettings;
  const objectives = new Objectives();
  const f = fn();
  for (let i = 0; i < 200; i++) f.addControl(100, 0, HOUR);
  const before = objectives.slo(f, s);
  // A twentieth of all: with them the p99 would be 5000.
  for (let i = 0; i < 10; i++) f.addControl(5000, 0, HOUR, true);
  t.is(objectives.slo(f, s), before);
  t.is(f.control.count, 210, 'the comparison with managed runs, cold ones too, has them');
});

test('an objective does not move with the load of an hour', (t) => {
  const s = defaultDecisionSettings;
  const objectives = new Objectives();
  const f = fn();
  for (let i = 0; i < 400; i++) f.addControl(i % 40 === 0 ? 200 : 100, 0, HOUR);
  const before = objectives.slo(f, s);
  // 2.5 % of 400 at 200: the p99 is 200. Five hours later 60 fast ones: were samples halved each
  // hour, the old would weigh 12.5.
  for (let i = 0; i < 60; i++) f.addControl(50, 5 * HOUR, HOUR);
  t.is(objectives.slo(f, s), before);
});

test('an objective is not judged by too few samples', (t) => {
  const s = defaultDecisionSettings;
  const objectives = new Objectives();
  const f = fn();
  t.is(objectives.verdict(f, s, Number.NaN, 0), 'learning');
  t.is(objectives.verdict(f, s, 1000, 5000), 'learning', 'no control run yet');
  for (let i = 0; i < 199; i++) f.addControl(100, 0, HOUR);
  t.is(objectives.verdict(f, s, 1000, 5000), 'learning', '199 of 200');
  f.addControl(100, 0, HOUR);
  // 1.2 x 100; the histogram may be 5 % high.
  t.is(objectives.verdict(f, s, 119, 5000), 'kept');
  t.is(objectives.verdict(f, s, 127, 5000), 'missed');
  t.is(objectives.verdict(f, s, 127, 99), 'learning');
  const said = fn();
  said.configuredSlo = 50;
  t.is(objectives.verdict(said, s, 51, 100), 'missed', 'a configured one needs no control run');
});

test('a class that is known gives its shape to a function with few samples', (t) => {
  const objectives = new Objectives();
  const known = fn('/g/known');
  for (let i = 0; i < 100; i++) {
    known.addControl(200, 0, HOUR);
    objectives.learn(known, 200, 0, HOUR);
  }
  const fresh = fn('/g/fresh');
  fresh.addControl(300, 0, HOUR);
  // Same decade, p95 / mean = 1: about 300 x 1.2.
  const slo = objectives.provisionalSlo(fresh, defaultDecisionSettings);
  t.true(slo >= 360 && slo <= 360 * 1.051);
});

test('worse than doing nothing: more than 5 % slower than the control arm, beyond chance', (t) => {
  const make = (managed: (i: number) => number, runs = 100): FunctionState => {
    const f = fn();
    for (let i = 0; i < runs; i++) {
      f.addControl(i % 2 ? 95 : 105, 0, HOUR);
      f.managed.add(managed(i), 0, HOUR);
    }
    return f;
  };
  t.true(slowerThanControl(make((i) => (i % 2 ? 115 : 125))));
  t.false(slowerThanControl(make((i) => (i % 2 ? 98 : 108))), 'about 3 %');
  t.false(slowerThanControl(make((i) => (i % 2 ? 80 : 90))));
  t.false(slowerThanControl(make((i) => (i % 2 ? 200 : 210), 29)), 'too few');
  t.false(slowerThanControl(make((i) => (i % 10 ? 20 : 40_000))), 'too noisy');
  t.true(
    hostSlowerThanControl([make((i) => (i % 2 ? 115 : 125)), make((i) => (i % 2 ? 110 : 120))]),
  );
  t.false(
    hostSlowerThanControl([make((i) => (i % 2 ? 115 : 125)), make((i) => (i % 2 ? 60 : 65))]),
  );
  t.false(hostSlowerThanControl([fn()]));
});

test('headroom: host - user-memory - use beyond the containers - reserve - loans', (t) => {
  const headroom = new MemoryHeadroom((8192 * MIB) as Bytes, (256 * MIB) as Bytes, 0 as Bytes);
  t.is(Number(headroom.free), 0, 'nothing is known');
  // 128 shares of 256 MiB: floor(user / 256) = 8, so [2048, 2304); 64 shares of 128 MiB: 16, so
  // [2048, 2176).
  headroom.seen('wsk0', limits(256));
  t.is(headroom.userMemory, 2304 * MIB);
  headroom.seen('wsk0', limits(128));
  t.is(headroom.userMemory, 2176 * MIB);
  t.is(Number(headroom.free), 0, 'the use is not known');
  headroom.update((1500 * MIB) as Bytes, (1000 * MIB) as Bytes);
  t.is(Number(headroom.free), (8192 - 2176 - 500 - 256) * MIB);
  t.is(Number(headroom.lend((1000 * MIB) as Bytes, MIB as Bytes)), 1000 * MIB);
  t.is(Number(headroom.free), (8192 - 2176 - 500 - 256 - 1000) * MIB);
  headroom.seen('wsk1', limits(256));
  t.is(headroom.userMemory, (2176 + 2304) * MIB, 'several invokers: the sum');
  headroom.release((1000 * MIB) as Bytes);
  headroom.forget('wsk1');
  headroom.update((7900 * MIB) as Bytes, 0 as Bytes);
  t.is(Number(headroom.lend((1000 * MIB) as Bytes, MIB as Bytes)), 0);
});

test('user-memory follows the integer division of OpenWhisk', (t) => {
  const headroom = new MemoryHeadroom((64 * 1024 * MIB) as Bytes, 0 as Bytes, 0 as Bytes);
  for (const [memory, shares] of [
    [256, 128],
    [300, 170],
    [384, 204],
    [700, 512],
    [1100, 1024],
  ] as const)
    headroom.seen('wsk0', limits(memory, 0, shares));
  // 2048 lies in all of them: [2048, 2304), [1800, 2100), [1920, 2304), [1400, 2100), [1100, 2200).
  t.is(headroom.userMemory, 2100 * MIB);
});

test('containers that contradict each other, or the configuration, leave no headroom', (t) => {
  const learned = new MemoryHeadroom((8192 * MIB) as Bytes, 0 as Bytes, 0 as Bytes);
  learned.update(0 as Bytes, 0 as Bytes);
  learned.seen('wsk0', limits(256));
  learned.seen('wsk0', limits(256, 0, 512));
  t.is(Number(learned.free), 0);
  const configured = new MemoryHeadroom((8192 * MIB) as Bytes, 0 as Bytes, (1024 * MIB) as Bytes);
  configured.update(0 as Bytes, 0 as Bytes);
  t.is(Number(configured.free), 7168 * MIB);
  configured.seen('wsk0', limits(256, 0, 2));
  t.is(Number(configured.free), 7168 * MIB, 'at the clamp of 2 the shares say nothing');
  configured.seen('wsk0', limits(256));
  t.is(Number(configured.free), 0, 'the containers say at least 2048 MiB');
});

test('a table of functions is bounded, and what it forgets leaves the reference', (t) => {
  const one = decider({ maxFunctions: 2 });
  const first = one.functionState('/g/1', '1', limits(256), 0 as Millis);
  first.expectedCpu.add(10, 0, HOUR);
  one.reference.update(first, 0, HOUR);
  one.functionState('/g/2', '1', limits(256), 0 as Millis);
  one.functionState('/g/3', '1', limits(256), 0 as Millis);
  t.is(one.functions.size, 2);
  t.is(one.functions.newest('/g/1'), undefined);
  t.is(one.reference.value, Number.NaN);
  for (const version of ['2', '3', '4'])
    one.functionState('/g/3', version, limits(256), 0 as Millis);
  t.deepEqual(
    [...one.functions.all()].map((f) => f.version),
    ['4', '3', '1'],
  );
});

test('a weight of its own beside a quota comes from a policy for weights only', (t) => {
  const own = (kind: 'weight' | 'range' | 'both', quota: number) => {
    const one = decider({}, undefined, 'smallest-in-range', 'memory');
    const player = new Player(one, limits(256, quota));
    // One that triples the weight, or asks for 300 millicores.
    one.setFunctionPolicy(player.fn, {
      name: 'own',
      kind,
      choose: () => (quota > 0 && kind !== 'weight' ? 300 : 3),
    });
    player.whole(1000, 0.2);
    const run = player.start(player.now + 10);
    return { shares: run.shares, cpu: run.cpu.granted };
  };
  // The peak of 200 gives [200 / .75, 1000].
  const smallest = 200 / 0.75;
  t.deepEqual(own('weight', 1), { shares: 384, cpu: smallest });
  t.deepEqual(own('range', 1), { shares: 128, cpu: 300 });
  t.deepEqual(own('both', 1), { shares: 128, cpu: 300 });
  t.deepEqual(own('weight', 0).shares, 384);
  t.deepEqual(own('both', 0).shares, 384);
  t.deepEqual(own('range', 0).shares, 128);
});

test('an objective is kept at its very value', (t) => {
  const f = fn();
  f.configuredSlo = 50;
  const objectives = new Objectives();
  t.is(objectives.verdict(f, defaultDecisionSettings, 50, 100), 'kept');
  t.is(objectives.verdict(f, defaultDecisionSettings, 50.1, 100), 'missed');
});

test('an alarm needs thirty samples in each arm', (t) => {
  const slow = (managed: number, control: number): boolean => {
    const f = fn();
    for (let i = 0; i < managed; i++) f.managed.add(i % 2 ? 200 : 201, 0, HOUR);
    for (let i = 0; i < control; i++) f.addControl(i % 2 ? 100 : 101, 0, HOUR);
    return slowerThanControl(f);
  };
  t.true(slow(30, 30));
  t.false(slow(29, 1000));
  t.false(slow(1000, 29));
});

test('a difference within three standard errors is chance', (t) => {
  const f = fn();
  // Logarithms 0 and 4 about a mean of 2 against 0 and 4 about 1.8: far more than 5 %, less than
  // three errors of sqrt(2 x 4 / 50) = .4.
  for (let i = 0; i < 50; i++) {
    f.managed.add(Math.exp(i % 2 ? 4.2 : 0.2), 0, HOUR);
    f.addControl(Math.exp(i % 2 ? 4 : 0), 0, HOUR);
  }
  t.false(slowerThanControl(f));
});

test('settings of the published program and of the published text', (t) => {
  const code = freyrSettings('freyr-code');
  const text = freyrSettings('freyr-paper', (128 * MIB) as Bytes);
  t.deepEqual([code.thetaUser, code.thetaSpike], [0.9, 0.9]);
  t.deepEqual([text.thetaUser, text.thetaSpike], [1, 0.8]);
  // Eight units of either resource.
  t.deepEqual([Number(code.cpuCap), Number(code.memoryCap)], [8000, 512 * MIB]);
  t.is(Number(text.memoryCap), 1024 * MIB);
  t.false(code.payloadAware || text.payloadAware || code.midRun || text.midRun);
  t.true(defaultDecisionSettings.payloadAware);
});

test('the published program heeds failures, the published text does not', (t) => {
  for (const [preset, reason] of [
    ['freyr-code', 'failure'],
    ['freyr-paper', 'over_provisioned'],
  ] as const) {
    const player = new Player(decider(freyrSettings(preset)), limits(256, 4));
    player.whole(1000, 1.5);
    player.start(player.now + 10);
    player.finish('failure');
    t.is(player.start(player.now + 10).cpu.reason, reason);
  }
});

test('a quota for short runs needs a period, and counts runs that end with it', (t) => {
  t.is(shortRunQuota(50, 90, 2000, 0), 0);
  t.is(shortRunQuota(50, 90, 2000, -1), 0);
  t.is(shortRunQuota(Number.NaN, 90, 2000, 100_000), 0);
  // 150 ms of CPU in a run of exactly one period: one and a half cores.
  t.is(shortRunQuota(150, 100, 2000, 100_000), 1500);
});

test('in weight mode a function asks for its peak, and for its user’s CPU without one', (t) => {
  const player = new Player(decider(), limits(256));
  // 128 of 1024 shares of 8 cores.
  t.is(player.start().cpu.demand, 1000);
  player.sample(100, 0.4);
  player.finish();
  t.is(player.start(player.now + 10).cpu.demand, 400);
});

test('a pool expects a run to end after the function’s mean, or a second', (t) => {
  const player = new Player(decider(), limits(256, 1));
  player.start(5000);
  t.is(player.container.cpu.expectedEnd, 6000);
  player.sample(300, 0.4);
  player.finish();
  player.start(7000);
  t.is(player.container.cpu.expectedEnd, 7300);
  t.is(player.fn.started, 2);
});

test('a function with another quota or memory has a history of its own', (t) => {
  const one = decider();
  const at = (memory: number, quota: number): FunctionState =>
    one.functionState('/g/f', '1', limits(memory, quota), 0 as Millis);
  const first = at(256, 1);
  t.is(at(256, 1), first);
  t.not(at(256, 2), first);
  t.not(at(512, 1), first);
});

test('only enforced runs outside of the control arm are managed ones', (t) => {
  const counts = (enforced: boolean, control: number): number[] => {
    const player = new Player(decider({ controlShare: control }), limits(256, 1));
    player.start(player.now, enforced);
    player.sample(100, 0.3);
    player.finish();
    const { managed, control: arm, duration } = player.fn;
    return [managed.count, arm.count, duration.weight];
  };
  t.deepEqual(counts(true, 0), [1, 0, 1]);
  t.deepEqual(counts(false, 0), [0, 0, 1]);
  t.deepEqual(counts(true, 1), [0, 1, 1]);
});

test('a run without CPU counters gives no CPU time', (t) => {
  const player = new Player(decider(), limits(256, 1));
  const run = player.start();
  run.startCpu = -1 as typeof run.startCpu;
  player.sample(100, 0.3);
  player.finish();
  t.deepEqual([player.fn.cpuTime.count, player.fn.expectedCpu.weight], [0, 0]);
});

test('classes of duration end at a thousand seconds', (t) => {
  const objectives = new Objectives();
  const known = fn('/g/known');
  for (let i = 0; i < 20; i++) {
    known.addControl(5e6, 0, HOUR);
    objectives.learn(known, 5e6, 0, HOUR);
  }
  // Both are in the last class, whose p95 / mean is 1; a class of 19 samples is not believed.
  const fresh = fn('/g/fresh');
  fresh.addControl(9e6, 0, HOUR);
  const slo = objectives.provisionalSlo(fresh, defaultDecisionSettings);
  t.true(slo >= 1.2 * 9e6 * 0.99 && slo <= 1.2 * 9e6 * 1.051, `${slo}`);
});

test('the mid-run safeguard watches only a lowered limit that is in force', (t) => {
  const levels = (run: object, midRun = true, quota = 1): readonly number[] => {
    const player = new Player(decider(), limits(256, quota));
    const one = player.start();
    Object.assign(one.cpu, { granted: 500 });
    Object.assign(one.memory, { granted: 100 });
    Object.assign(one, run);
    const settings = { ...plain, midRun };
    return [cpuSpikeLevel(one, settings), memorySpikeLevel(one, settings)];
  };
  // thetaSpike is .8.
  t.deepEqual(levels({}), [400, 80]);
  t.deepEqual(levels({}, true, 0), [Infinity, 80], 'weights alone limit no CPU');
  t.deepEqual(levels({ enforced: false }), [Infinity, Infinity]);
  t.deepEqual(levels({}, false), [Infinity, Infinity]);
  const whole = { cpu: { granted: 1000, user: 1000 }, memory: { granted: 256, user: 256 } };
  const full = { ...whole, cpu: { ...whole.cpu, reduced: false } };
  t.deepEqual(levels({ ...full, memory: { ...whole.memory, reduced: false } }), [
    Infinity,
    Infinity,
  ]);
});
