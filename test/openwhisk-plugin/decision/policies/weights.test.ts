import test from 'ava';
import { type Millicores, type Millis, policyNames } from '../../../../config/index.js';
import { quotaPolicies, weightPolicies } from '../../../../config/policies.js';
import {
  createPolicy,
  type PolicyContext,
  type Run,
} from '../../../../openwhisk-plugin/decision/index.js';
import { AlpsPolicy } from '../../../../openwhisk-plugin/decision/policies/alps.js';
import { SfsPolicy } from '../../../../openwhisk-plugin/decision/policies/sfs.js';
import { decider, host, limits, Player, policyContext } from '../helpers.js';

/** A run in weight mode in a container with 128 shares. */
const run = (): Run => new Player(decider(), limits(256, 0, 128)).run;
const knows = (remaining: number): PolicyContext =>
  policyContext({ oracle: { remainingCpu: () => remaining } });
const near = (a: number, b: number, share = 1e-9): boolean =>
  Math.abs(a - b) <= share * Math.abs(b);

test('a configuration may name every policy but the bound', (t) => {
  const configurable = new Set<string>([...quotaPolicies, ...weightPolicies]);
  t.deepEqual(
    policyNames.filter((name) => !configurable.has(name)),
    ['shortest-remaining-first'],
  );
});

test('shortest-remaining-first: shares = middle of the range x (reference / remaining)^2', (t) => {
  const policy = createPolicy('shortest-remaining-first');
  const r = run();
  const factor = (remaining: number) => policy.choose(r, r.cpu, knows(remaining));
  // The middle of 2..262144 is sqrt(524288) = 724.08 shares; as much work as the reference has that
  // weight, half of it four times.
  t.true(near(factor(100) * 128, Math.sqrt(524_288)));
  t.true(near(factor(50) / factor(100), 4));
  t.is(factor(0) * 128, 262_144);
  t.is(factor(1e6) * 128, 2);
  const flat = createPolicy('shortest-remaining-first', { exponent: 1 });
  t.true(near(flat.choose(r, r.cpu, knows(50)) / flat.choose(r, r.cpu, knows(100)), 2));
});

test('shortest-remaining-first refuses if there is no oracle: own weights', (t) => {
  const r = run();
  t.is(createPolicy('shortest-remaining-first').choose(r, r.cpu, policyContext()), Number.NaN);
  const player = new Player(
    decider({}, host(), 'smallest-in-range', 'shortest-remaining-first'),
    limits(256, 0, 128),
  );
  t.is(player.start().shares, 128);
  t.false(player.decider.revise(player.run, 1000, 0 as Millis));
});

test('shortest-remaining-first asks again at half of the work, and the weight rises', (t) => {
  const policy = createPolicy('shortest-remaining-first');
  t.is(policy.revisesAt?.(run(), 10, knows(100)), 60);
  t.is(policy.revisesAt?.(run(), 10, knows(0.1)), Number.POSITIVE_INFINITY);
  t.is(policy.revisesAt?.(run(), 10, policyContext()), Number.POSITIVE_INFINITY);

  const d = decider(
    { referenceCpuTime: 100 as Millis },
    host(),
    'smallest-in-range',
    'shortest-remaining-first',
  );
  let left = 100;
  d.oracle = { remainingCpu: () => left };
  const player = new Player(d, limits(256, 0, 128));
  t.is(player.start().shares, 724);
  t.is(d.revisesAt(player.run, 0), 50);
  left = 50;
  t.true(d.revise(player.run, 50, 0 as Millis));
  // 724.08 x 4 = 2896.3
  t.is(player.run.shares, 2896);
  t.is(player.container.shares, 2896);
  t.false(d.revise(player.run, 50, 0 as Millis), 'nothing new');
});

test('sfs: in its slice an activation is above all, past it the container has its weight', (t) => {
  const policy = createPolicy('sfs');
  const r = run();
  // Clamp 16 x 1024 shares of a full host / its own 128.
  t.is(policy.choose(r, r.cpu, policyContext()), 128);
  t.is(policy.revise?.(r, 19.9, policyContext()), 128);
  t.is(policy.revise?.(r, 20, policyContext()), 1);
  t.is(policy.revisesAt?.(r, 0, policyContext()), 20);
  t.is(policy.revisesAt?.(r, 20, policyContext()), Number.POSITIVE_INFINITY);
});

test('sfs: slice = mean distance of the last 100 arrivals x cores', (t) => {
  const policy = new SfsPolicy();
  const r = run();
  let now = 0;
  const arrive = (count: number, distance: number): void => {
    for (let i = 0; i < count; i++) {
      now += distance;
      r.startedAt = now as Millis;
      policy.choose(r, r.cpu, policyContext());
    }
  };
  arrive(99, 2);
  t.is(policy.slice(8), 20, 'too few to tell');
  arrive(1, 2);
  t.is(policy.slice(8), 16);
  t.is(policy.slice(2), 6, 'no less than 6 ms');
  // 50 distances of 2 ms are followed by 49... the newest 99 distances: 49 of 2, 50 of 10: 598 / 99
  // x 8.
  arrive(50, 10);
  t.true(near(policy.slice(8), (598 / 99) * 8));
});

test('sfs through the decider: demoted mid-run, at the front again with the next call', (t) => {
  const player = new Player(decider({}, host(), 'smallest-in-range', 'sfs'), limits(256, 0, 128));
  t.is(player.start().shares, 16_384);
  t.is(player.decider.revisesAt(player.run, 0), 20);
  t.true(player.decider.revise(player.run, 25, 0 as Millis));
  t.is(player.run.shares, 128);
  t.is(player.decider.revisesAt(player.run, 25), Number.POSITIVE_INFINITY);
  player.finish();
  t.is(player.start().shares, 16_384);
});

test('a weight is revised only for a lone, enforced run outside control arm and boosts', (t) => {
  const start = (settings = {}, user = limits(256, 0, 128), enforced = true): Player => {
    const player = new Player(decider(settings, host(), 'smallest-in-range', 'sfs'), user);
    player.run.enforced = enforced;
    player.decider.start(player.run, player.now as Millis);
    return player;
  };
  const revised = (player: Player): boolean => player.decider.revise(player.run, 1000, 0 as Millis);
  t.true(revised(start()));
  t.false(revised(start({ controlShare: 1 })));
  t.false(revised(start({}, limits(256, 0, 128), false)));
  t.true(revised(start({}, limits(256, 1, 128))));
  t.false(revised(start({ preset: 'freyr-code' }, limits(256, 1, 128))));
  const boosted = start();
  boosted.decider.shares.beginBoost(boosted.container, boosted.now as Millis);
  t.false(revised(boosted));
  const shared = start();
  shared.container.runs.push(shared.run);
  t.false(revised(shared));
  t.is(shared.decider.revisesAt(shared.run, 0), Number.POSITIVE_INFINITY);
});

test('beside a quota the range policy chooses the amount and short-first the weight', (t) => {
  const player = new Player(decider({}, host(), 'target'), limits(256, 1, 128));
  player.start();
  t.is(player.run.shares, 128, 'nothing is known yet');
  player.finish();
  player.fn.expectedCpu.forget();
  player.fn.expectedCpu.add(40, 0, 1e9);
  player.decider.settings = { ...player.decider.settings, referenceCpuTime: 160 as Millis };
  player.run.reset(player.fn, player.container);
  player.run.targetCpu = 2000 as Millicores;
  player.decider.start(player.run, player.now as Millis);
  // 160 / 40 = 4; a target of twice the user's CPU would have made 8 of it in weight mode.
  t.is(player.run.shares, 512);
  player.finish();
  player.run.reset(player.fn, player.container);
  player.decider.settings = { ...player.decider.settings, controlShare: 1 };
  player.decider.start(player.run, player.now as Millis);
  t.is(player.run.shares, 128, 'the control arm has its own weight');
});

test('the published presets leave weights alone', (t) => {
  const player = new Player(
    decider({ preset: 'freyr-code', referenceCpuTime: 160 as Millis }),
    limits(256, 1, 128),
  );
  player.fn.expectedCpu.add(40, 0, 1e9);
  t.is(player.start().shares, 128);
});

test('alps: the factor goes by the share of recent activations of shorter functions', (t) => {
  const policy = createPolicy('alps');
  const functions = [10, 100, 1000].map((mean) => {
    const r = run();
    r.fn.expectedCpu.add(mean, 0, 1000);
    return r;
  });
  const equal = 1024 / 128;
  t.is(policy.choose(run(), run().cpu, policyContext()), equal, 'unknown: an equal weight');
  const last = [0, 0, 0];
  for (let round = 0; round < 1000; round++) {
    functions.forEach((r, i) => {
      last[i] = policy.choose(r, r.cpu, policyContext()) / equal;
    });
  }
  // Ranks 1/6, 1/2, 5/6; 16 x (1/256)^rank = 16^(1 - 2 rank).
  t.true(near(last[0]!, 16 ** (2 / 3), 0.01));
  t.true(near(last[1]!, 1, 0.01));
  t.true(near(last[2]!, 16 ** (-2 / 3), 0.01));
});

test('alps: an activation counts half after 1000 more, however long the host runs', (t) => {
  for (const before of [0, 100_000]) {
    const policy = new AlpsPolicy();
    const [short, long] = [10, 1000].map((mean) => {
      const r = run();
      r.fn.expectedCpu.add(mean, 0, 1000);
      return r;
    }) as [Run, Run];
    for (let i = 0; i < before; i++) policy.choose(long, long.cpu, policyContext());
    for (let i = 0; i < 20_000; i++) policy.choose(short, short.cpu, policyContext());
    for (let i = 0; i < 1000; i++) policy.choose(long, long.cpu, policyContext());
    // The short activations are half of the weight still: rank 1/4 of the short, 3/4 of the long
    // function.
    t.true(near(policy.choose(short, short.cpu, policyContext()) / 8, 16 ** 0.5, 0.01));
    t.true(near(policy.choose(long, long.cpu, policyContext()) / 8, 16 ** -0.5, 0.01));
  }
});
