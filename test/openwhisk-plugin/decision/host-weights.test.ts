import test from 'ava';
import fc from 'fast-check';
import { HostWeights } from '../../../openwhisk-plugin/decision/host-weights.js';
import { ContainerState, Run, sharesRange } from '../../../openwhisk-plugin/decision/index.js';
import { scaleShares } from '../../../openwhisk-plugin/decision/weights.js';
import { decider, host, limits, Player } from './helpers.js';

/** OpenWhisk's shares of a container: 1024 x memory / user memory, at least 2. */
const shares = (memory: number, userMemory: number): number =>
  Math.max(2, Math.round((1024 * memory) / userMemory));

test('on a large invoker all weights are raised so that the whole range can be expressed', (t) => {
  const weights = new HostWeights();
  t.is(weights.common, 1);
  weights.observe(sharesRange(32)); // 128 MB of 4 GB: 1/16 of it is 2
  t.is(weights.common, 1);
  weights.observe(sharesRange(2)); // 128 MB of 96 GB
  t.is(weights.common, 16);
});

test('the factor stays below what the kernel takes for the largest container', (t) => {
  const weights = new HostWeights();
  weights.observe(sharesRange(2));
  weights.observe(sharesRange(4096)); // 4096 x 16 x 4 = 262144
  t.is(weights.common, 4);
  weights.observe(sharesRange(65_536)); // nothing is ever lowered
  t.is(weights.common, 1);
});

test('beside containers that are not managed none is raised above the least of them', (t) => {
  const weights = new HostWeights();
  weights.observe(sharesRange(2));
  weights.siblings = 1024 / 2; // OpenWhisk's own containers have 1024: x 32 at most
  t.is(weights.common, 16);
  weights.siblings = 100 / 2;
  t.is(weights.common, 50 / 16);
  weights.siblings = 2 / 2;
  t.is(weights.common, 1);
});

test('a container that keeps its own weight forbids the common factor', (t) => {
  const weights = new HostWeights();
  weights.observe(sharesRange(2));
  weights.isAllowed = false;
  t.is(weights.common, 1);
});

test('with the common factor two factors of a policy never become one weight', (t) => {
  const memory = fc.integer({ min: 128, max: 2048 });
  const property = fc.property(
    fc.array(memory, { minLength: 1, maxLength: 8 }),
    fc.integer({ min: 4096, max: 262_144 }),
    (memories, userMemory) => {
      const weights = new HostWeights();
      const own = memories.map((each) => shares(each, userMemory));
      for (const each of own) weights.observe(sharesRange(each));
      for (const each of own) {
        const low = scaleShares(each, weights.common / 16);
        const middle = scaleShares(each, weights.common);
        const high = scaleShares(each, weights.common * 16);
        // The rounding of 2 shares: at most a quarter.
        if (low * 12 > middle || middle * 16 > high * 1.25) return false;
      }
      return true;
    },
  );
  fc.assert(property);
  t.pass();
});

test('the neutral factor is the mean of what runs, by own weight', (t) => {
  const weights = new HostWeights();
  t.is(weights.neutral(16), 16);
  const player = new Player(decider(), limits(256, 0, 100));
  const place = (own: number, inForce: number): ContainerState => {
    const container = new ContainerState(limits(256, 0, own), host());
    container.shares = inForce;
    container.runs.push(new Run(player.fn, container));
    weights.update(container);
    return container;
  };
  const one = place(100, 400);
  place(300, 300);
  t.is(weights.neutral(1), 700 / 400);
  t.is(weights.inForce, 700);
  one.shares = 1600;
  weights.update(one);
  t.is(weights.neutral(1), 1900 / 400);
  one.runs.pop();
  weights.update(one);
  t.is(weights.neutral(1), 1);
});

test('a control activation has the share of the CPU that it would have without Gleaner', (t) => {
  const one = decider({ controlShare: 1 });
  const other = new Player(one, limits(256, 0, 128), '/g/other');
  other.start();
  other.container.shares = 512;
  one.weights.update(other.container);
  const control = new Player(one, limits(256, 0, 128), '/g/control');
  t.true(control.start().control);
  // Own weights 128 and 128: half of the CPU each, so with 512 against it also 512.
  t.is(control.run.shares, 512);
});

test('beside siblings with a bound on their loss nothing is raised for all', (t) => {
  const weights = new HostWeights();
  weights.observe(sharesRange(2));
  weights.siblingLoss = 0.05;
  t.is(weights.common, 16, 'there are none');
  t.true(weights.mayRaise);
  weights.siblings = 102 / 2;
  t.is(weights.common, 1);
  t.false(weights.mayRaise);
});

test('beside pods of its level a burst of activations takes at most a twentieth from them', (t) => {
  const container = fc.record({
    own: fc.integer({ min: 2, max: 2000 }),
    millis: fc.constantFrom(10, 50, 200, 1000),
  });
  const property = fc.property(
    fc.array(container, { minLength: 1, maxLength: 8 }),
    fc.integer({ min: 2, max: 4096 }),
    (containers, sibling) => {
      const owns = containers.map((each) => each.own);
      const one = decider({ controlShare: 0 });
      one.weights.siblingLoss = 0.05;
      // The factor is that of the largest own weight.
      one.weights.siblings = sibling / Math.max(...owns);
      const players = owns.map((shares, n) => new Player(one, limits(256, 0, shares), `/g/f${n}`));
      for (const [n, player] of players.entries())
        for (let i = 0; i < 3; i++) player.whole(containers[n]!.millis, 1);
      for (const player of players) player.start();
      const inForce = players.reduce((sum, { container }) => sum + container.shares, 0);
      const all = owns.reduce((sum, each) => sum + each, 0);
      // sibling / (sibling + weights) is its share; rounding to whole shares only lowers weights.
      return (sibling + inForce) / (sibling + all) <= 1.05 + 1e-9;
    },
  );
  fc.assert(property);
  t.pass();
});

test('a short activation beside a system pod is raised by what that pod may lose', (t) => {
  const one = decider({ controlShare: 0 });
  one.weights.siblingLoss = 0.05;
  one.weights.siblings = 102 / 2;
  const short = new Player(one, limits(256, 0, 2), '/g/short');
  const long = new Player(one, limits(256, 0, 2), '/g/long');
  for (let n = 0; n < 5; n++) {
    short.whole(10, 1);
    long.whole(2000, 1);
  }
  long.start();
  t.is(long.container.shares, 2);
  short.start();
  // Own weights 4 in all; 4 + .05 x (102 + 4) = 9.3, of which the long one has 2.
  t.is(short.container.shares, 7);
});
