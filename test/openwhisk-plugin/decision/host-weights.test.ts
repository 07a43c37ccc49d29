import test from 'ava';
import fc from 'fast-check';
import type { Millis } from '../../../config/index.js';
import {
  ContainerState,
  type Decider,
  HostWeights,
  Run,
  sharesRange,
} from '../../../openwhisk-plugin/decision/index.js';
import { scaleShares } from '../../../openwhisk-plugin/decision/weights.js';
import { decider, host, limits, Player } from './helpers.js';

/** OpenWhisk's shares of a container: 1024 x memory / user memory, at least 2. */
const shares = (memory: number, userMemory: number): number =>
  Math.max(2, Math.round((1024 * memory) / userMemory));

/** Siblings may lose 5 %. */
const besidePods = (settings: { controlShare: number }): Decider =>
  decider(settings, host(), 'smallest-in-range', 'short-first', new HostWeights(0.05));

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

test('a container whose own weight is not known changes no factor', (t) => {
  const weights = new HostWeights();
  for (const [low, high] of [
    [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY], // of no shares at all
    [Number.NaN, Number.NaN],
    [0, 0],
  ] as const) {
    weights.observe({ low, high });
    t.is(weights.common, 1);
  }
  weights.observe(sharesRange(2));
  t.is(weights.common, 16);
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

test('the weight of an action that was made smaller counts as before', (t) => {
  const weights = new HostWeights();
  const place = (own: number, inForce: number, factor: number): ContainerState => {
    const container = new ContainerState(limits(256, 0, own), host());
    const { fn } = new Player(decider(), limits(256, 0, own));
    container.fn = fn;
    fn.rightSizeFactor = factor;
    container.shares = inForce;
    container.runs.push(new Run(fn, container));
    weights.update(container);
    return container;
  };
  const one = place(100, 800, 4);
  t.is(weights.neutral(1), 800 / 400);
  one.fn!.rightSizeFactor = 2;
  weights.update(one);
  t.is(weights.neutral(1), 800 / 200);
  // .1 + .2 - .1 - .2 is not 0.
  const all = [one, place(1, 2, 0.1), place(1, 2, 0.2)];
  for (const container of all) {
    container.runs.pop();
    weights.update(container);
  }
  t.is(weights.neutral(7), 7, 'nothing runs');
});

test('the typical factor is the geometric mean of what runs', (t) => {
  const weights = new HostWeights();
  t.is(weights.typical(16), 16);
  const player = new Player(decider(), limits(256, 0, 100));
  for (const [own, inForce] of [
    [100, 1600],
    [50, 50],
  ] as const) {
    const container = new ContainerState(limits(256, 0, own), host());
    container.shares = inForce;
    container.runs.push(new Run(player.fn, container));
    weights.update(container);
  }
  // (16 x 1)^(1/2)
  t.is(weights.typical(1), 4);
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
  const weights = new HostWeights(0.05);
  weights.observe(sharesRange(2));
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
      const one = besidePods({ controlShare: 0 });
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

/** A short and a long function in stock pods of 2 shares, beside a pod of 102 that may lose 5 %. */
function besideSystemPod() {
  const one = besidePods({ controlShare: 0 });
  one.weights.siblings = 102 / 2;
  const short = new Player(one, limits(256, 0, 2), '/g/short');
  const long = new Player(one, limits(256, 0, 2), '/g/long');
  for (let n = 0; n < 5; n++) {
    short.whole(10, 1);
    long.whole(2000, 1);
  }
  return { one, short, long };
}

test('a short activation beside a system pod is raised by what that pod may lose', (t) => {
  const { short, long } = besideSystemPod();
  long.start();
  t.is(long.container.shares, 2);
  short.start();
  // Own weights 4 in all; 4 + .05 x (102 + 4) = 9.3, of which the long one has 2.
  t.is(short.container.shares, 7);
  // Its own part is not counted twice if it is weighed again.
  t.is(short.decider.weights.most(short.container).toFixed(6), '7.300000');
});

test('what siblings may lose follows the largest container that runs', (t) => {
  const one = besidePods({ controlShare: 0 });
  // A pod of 102 shares is left over beside one of 100.
  one.weights.siblings = 102 / 100;
  const [first, second, small, watched] = [100, 100, 50, 50].map(
    (own, n) => new Player(one, limits(256, 0, own), `/g/f${n}`),
  );
  first!.start();
  second!.start();
  small!.start();
  small!.container.shares = 62;
  one.weights.update(small!.container);
  const visited: ContainerState[] = [];
  const lower = (): void => one.weights.lower((container) => visited.push(container));
  first!.finish();
  lower();
  // 100 + 62 of 150 + .05 x (102 + 150) = 162.6.
  t.deepEqual(visited, []);
  // At its own weight.
  watched!.start(watched!.now, false);
  second!.finish();
  lower();
  // 62 + 50, where 100 + .05 x (51 + 100) = 107.55 are allowed: 4.45 of 12 go.
  t.deepEqual(visited, [small!.container]);
  t.is(small!.container.shares, 57);
});

test('control activations, ends and cold starts keep the bound of such pods too', (t) => {
  const step = fc.record({
    place: fc.nat({ max: 3 }),
    boost: fc.boolean(),
  });
  const property = fc.property(
    fc.array(fc.integer({ min: 2, max: 2000 }), { minLength: 4, maxLength: 4 }),
    fc.integer({ min: 2, max: 4096 }),
    fc.array(step, { minLength: 1, maxLength: 40 }),
    (owns, sibling, steps) => {
      const one = besidePods({ controlShare: 0.3 });
      one.weights.siblings = sibling / Math.max(...owns);
      const players = owns.map((own, n) => new Player(one, limits(256, 0, own), `/g/f${n}`));
      for (const [n, player] of players.entries()) {
        for (let i = 0; i < 3; i++) player.whole(10 ** (n + 1), 1);
        player.container.shares = player.container.user.shares;
      }
      return steps.every(({ place, boost }) => {
        const player = players[place]!;
        const { container } = player;
        if (container.runs.length > 0) player.finish();
        else if (boost && container.boostUntil === 0)
          one.shares.beginBoost(container, player.now as Millis);
        else player.start();
        one.weights.lower(() => {});
        const busy = players
          .map((each) => each.container)
          .filter((each) => each.runs.length > 0 || each.boostUntil > 0);
        const inForce = busy.reduce((sum, each) => sum + each.shares, 0);
        const all = busy.reduce((sum, each) => sum + each.user.shares, 0);
        return (sibling + inForce) / (sibling + all) <= 1.05 + 1e-9;
      });
    },
  );
  fc.assert(property);
  t.pass();
});

test('a control activation beside a system pod is capped as others are', (t) => {
  const { one, short, long } = besideSystemPod();
  short.start();
  t.is(short.container.shares, 7, '2 + .05 x (102 + 2) = 7.2');
  one.settings = { ...one.settings, controlShare: 1 };
  t.true(long.start().control);
  // 4 + .05 x (102 + 4) = 9.3 in all.
  t.is(long.container.shares, 2);
});

test('when a large pod ends, what it allowed the others is taken back', (t) => {
  const one = besidePods({ controlShare: 0 });
  // A pod of 102 shares is left over beside one of 2000: less than its own weight.
  one.weights.siblings = 102 / 2000;
  const large = new Player(one, limits(256, 0, 2000), '/g/large');
  const small = new Player(one, limits(256, 0, 2), '/g/small');
  large.start();
  small.start();
  small.container.shares = 107;
  small.run.shares = 107;
  one.weights.update(small.container);
  large.finish();
  const lowered: ContainerState[] = [];
  one.weights.lower((container) => lowered.push(container));
  t.deepEqual(lowered, [small.container]);
  // .05 x (102 / 1000 + 2) above its own 2 is no whole share.
  t.is(small.container.shares, 2);
  t.is(small.run.shares, 2);
});

test('other containers are read only when siblings lose too much', (t) => {
  const { one, short, long } = besideSystemPod();
  long.start();
  let reads = 0;
  let counted = long.container.countedShares;
  Object.defineProperty(long.container, 'countedShares', {
    get: () => {
      reads++;
      return counted;
    },
    set: (shares: number) => {
      counted = shares;
    },
  });
  for (let n = 0; n < 20; n++) {
    short.start();
    one.weights.lower(() => {});
    short.finish();
    one.weights.lower(() => {});
  }
  t.is(reads, 0);
  short.start();
  // 2 + 8 in force, where 4 + .05 x (102 + 4) = 9.3 are allowed.
  short.container.shares = 8;
  one.weights.update(short.container);
  one.weights.lower(() => {});
  t.true(reads > 0);
  t.is(short.container.shares, 7);
});
