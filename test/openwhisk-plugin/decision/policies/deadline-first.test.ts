import test from 'ava';
import fc from 'fast-check';
import type { Millis } from '../../../../config/index.js';
import { createPolicy, type PolicyContext } from '../../../../openwhisk-plugin/decision/index.js';
import { decider, limits, Player, policyContext } from '../helpers.js';

/** A run that began at 0 and is known to need 100 ms of CPU. */
function known() {
  const { run } = new Player(decider(), limits(256, 0, 128));
  run.expectedCpu = 100;
  run.fn.minWeightFactor = 1 / 16;
  return run;
}

/** Of the policy to that of `gittins`, after `used` ms of CPU time at `now`. */
function urgency(
  objective: number,
  now = 0,
  used = 0,
  parameters: unknown = { danger: 8 },
): number {
  const run = known();
  const context: PolicyContext = policyContext({
    objective,
    now: now as Millis,
    highestFactor: 16,
  });
  const factor = (name: string, given?: unknown): number =>
    createPolicy(name, given).revise!(run, used, context);
  return factor('deadline-first', parameters) / factor('gittins');
}

test('a deadline further away than eight times the remaining work changes nothing', (t) => {
  t.is(urgency(800), 1);
  t.is(urgency(80_000), 1);
  // 60 ms of work are left, and 500 ms of time.
  t.is(urgency(900, 400, 40), 1);
});

test('the weight rises as the deadline comes closer', (t) => {
  // Eight times the work over the time left.
  t.is(urgency(400), 2);
  t.is(urgency(800, 600), 4);
  t.is(urgency(200, 0, 50), 2);
  t.is(urgency(100), 8);
  t.is(urgency(400, 0, 0, { danger: 32 }), 8);
  t.is(urgency(100, 0, 0, { danger: 32 }), 16);
});

test('an activation that cannot be in time gets a sixteenth', (t) => {
  t.is(urgency(99), 1 / 16);
  t.is(urgency(800, 701), 1 / 16);
  t.is(urgency(800, 5000), 1 / 16);
});

test('a late activation keeps the floor of its function', (t) => {
  const run = known();
  const floor = (minWeightFactor: number, highestFactor: number): number => {
    run.fn.minWeightFactor = minWeightFactor;
    const late = policyContext({ objective: 99, highestFactor });
    return createPolicy('deadline-first').revise!(run, 0, late);
  };
  t.is(floor(1 / 8, 16), 1 / 8);
  t.is(floor(1 / 16, 16), 1 / 16);
  // As every long activation there: its own weight, half of it once that is proven.
  t.is(floor(1 / 8, 256), 1);
  t.is(floor(1 / 16, 256), 1 / 2);
});

test('beside what is not managed no factor exceeds 16, else 16 x 16 x 16', (t) => {
  // gittins alone: (400 / 100)^2; urgency: 8 / 1.
  const urgent = { reference: 400 as Millis, objective: 100 };
  const factor = (highestFactor: number): number =>
    createPolicy('deadline-first').revise!(known(), 0, policyContext({ ...urgent, highestFactor }));
  t.is(factor(16), 16);
  t.is(factor(4096), 16 * 8);
  const { weights } = decider();
  t.is(weights.highest, 4096);
  weights.siblings = 8;
  t.is(weights.highest, 16);
  weights.siblings = Number.POSITIVE_INFINITY;
  t.is(weights.highest, 4096);
  weights.isAllowed = false;
  t.is(weights.highest, 16);
});

test('without an objective, or with an unknown length, it is gittins', (t) => {
  t.is(urgency(Number.NaN), 1);
  t.is(urgency(0), 1);
  const { run } = new Player(decider(), limits(256, 0, 128));
  const context = policyContext({ objective: 10 });
  t.is(createPolicy('deadline-first').revise!(run, 0, context), Number.NaN);
});

test('more time never raises a weight of an activation that can be in time', (t) => {
  const time = fc.double({ min: 100, max: 1e6, noNaN: true });
  fc.assert(fc.property(time, time, (a, b) => urgency(Math.min(a, b)) >= urgency(Math.max(a, b))));
  t.pass();
});

test('a decider judges a deadline by the time since the activation began', (t) => {
  const host = decider({ controlShare: 0 }, undefined, undefined, 'deadline-first');
  const player = new Player(host, limits(256, 0, 128));
  const { run, fn } = player;
  fn.configuredSlo = 2000;
  for (let i = 0; i < 3; i++) fn.cpuTime.add(100, 0, 3_600_000);
  host.reference.update(fn, 0, 3_600_000);
  for (let i = 0; i < 3; i++) fn.expectedCpu.add(100, 0, 3_600_000);
  host.reference.update(fn, 0, 3_600_000);
  player.start();
  const relaxed = run.shares;
  t.true(host.revise(run, 0, (player.now + 1500) as Millis));
  t.true(run.shares > relaxed);
  const urgent = run.shares;
  t.true(host.revise(run, 0, (player.now + 2500) as Millis));
  t.true(run.shares < relaxed && run.shares < urgent);
});
