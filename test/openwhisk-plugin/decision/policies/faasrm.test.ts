import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { JsEngine, scoreShape } from '../../../../agents/nn/index.js';
import { type Bytes, type Millis, SeededRandom } from '../../../../config/index.js';
import {
  ACTOR_WEIGHTS,
  type ActivationPolicy,
  amountFeature,
  type Choice,
  createPolicy,
  Decider,
  defaultDecisionSettings,
  durationFeature,
  OptionScorer,
  POLICY_WEIGHTS,
  rateFeature,
} from '../../../../openwhisk-plugin/decision/index.js';
import { OPTIONS } from '../../../../openwhisk-plugin/decision/policies/faasrm/options.js';
import { freyrSettings } from '../../../../openwhisk-plugin/decision/settings.js';
import { FEATURE_LAYOUT, LEVELS, STATE_FEATURES } from '../../../../rules/index.js';
import { newOptionScorer } from '../../../agents/nn/fixtures.js';
import { host, limits, Player, plain, policyContext } from '../helpers.js';

/**
 * Weights of a network whose score is `sign` x tanh(tanh(x)) of one input: a policy that is known
 * without running it.
 */
function reading(input: number, sign: number): number[] {
  const weights = new Array<number>(POLICY_WEIGHTS).fill(0);
  weights[input * 32] = 1;
  // Kernel of the second layer at 11 x 32 + 32, of the third at 384 + 32 x 16 + 16.
  weights[384] = 1;
  weights[912] = sign;
  return weights;
}
const CPU = STATE_FEATURES;
const MEMORY = STATE_FEATURES + 1;

const parameters = { layout: FEATURE_LAYOUT };

function played(
  weights: readonly number[],
  more: object = {},
  settings: Partial<typeof plain> = {},
): Player {
  const quota = createPolicy('faasrm', { ...parameters, ...more }, weights);
  const policies = { quota, weight: createPolicy('memory') };
  const decider = new Decider({ ...plain, ...settings }, host(), policies, new SeededRandom(1));
  return new Player(decider, limits(256, 1));
}

test('a policy’s 1,858 numbers are two networks 11-32-16-1', (t) => {
  // (11 + 1) x 32 + (32 + 1) x 16 + (16 + 1) x 1 = 929
  t.is(ACTOR_WEIGHTS, 929);
  t.is(POLICY_WEIGHTS, 1858);
  t.is(OPTIONS, 64);
});

test('every option is scored as the engine of the agents scores it, within 1e-5', (t) => {
  const pair = newOptionScorer(new JsEngine(), OPTIONS, new SeededRandom(5));
  const actor = pair.actor.export().map((weight, i) => weight * 20 + ((i % 7) - 3) / 10);
  pair.actor.import(actor);
  const random = new SeededRandom(6);
  const scorer = new OptionScorer(actor);
  for (const [cpus, memories] of [
    [8, 8],
    [8, 1],
    [3, 5],
    [1, 1],
  ] as const) {
    for (let i = 0; i < STATE_FEATURES; i++) scorer.features[i] = 2 * random.next() - 1;
    for (let i = 0; i < LEVELS; i++) {
      scorer.cpu[i] = 2 * random.next() - 1;
      scorer.memory[i] = 2 * random.next() - 1;
    }
    scorer.score(cpus, memories);
    const inner = new JsEngine().network(scoreShape);
    inner.import(actor);
    for (let c = 0; c < cpus; c++) {
      for (let m = 0; m < memories; m++) {
        const score = new Float32Array(1);
        inner.forward(
          Float32Array.of(...scorer.features, scorer.cpu[c]!, scorer.memory[m]!),
          score,
        );
        t.true(
          Math.abs(score[0]! - scorer.scores[c * memories + m]!) < 1e-5,
          `${cpus} x ${memories}: ${c}, ${m}`,
        );
      }
    }
  }
});

test('two policies with weights of their own do not get in each other’s way', (t) => {
  const high = new OptionScorer(Float32Array.from(reading(CPU, 1).slice(0, ACTOR_WEIGHTS)));
  const low = new OptionScorer(Float32Array.from(reading(CPU, -1).slice(0, ACTOR_WEIGHTS)));
  for (let i = 0; i < LEVELS; i++) high.cpu[i] = i / LEVELS;
  for (let again = 0; again < 2; again++) {
    high.score(LEVELS, 1);
    t.is(high.best(LEVELS), LEVELS - 1);
    low.score(LEVELS, 1);
    t.is(low.best(LEVELS), 0);
  }
});

test('the highest score is taken, inside the safeguard’s range, for this activation', (t) => {
  // Used .4 of 1 core: range [.4 / .75, 1]. The network prefers much or little CPU, so an end.
  for (const [sign, share] of [
    [1, 1],
    [-1, 0.4 / 0.75],
  ] as const) {
    const player = played(reading(CPU, sign));
    player.whole(400, 0.4);
    const run = player.start(player.now + 10);
    t.is(run.cpu.reason, 'over_provisioned');
    t.true(Math.abs(run.cpu.granted - 1000 * share) < 1e-6, `${run.cpu.granted}`);
  }
});

test('the first activation, a failure and the control arm stay at user limits', (t) => {
  const player = played(reading(CPU, -1));
  t.is(player.start().cpu.granted, 1000);
  player.sample(200, 0.1);
  player.finish('failure');
  t.is(player.start(player.now + 10).cpu.granted, 1000);
  player.finish('failure');
  const control = played(reading(CPU, -1), {}, { controlShare: 1 });
  control.whole(400, 0.1);
  t.is(control.start(control.now + 10).cpu.granted, 1000);
});

test('CPU and memory are chosen together, each inside its range', (t) => {
  for (const sign of [1, -1]) {
    const player = played(reading(MEMORY, sign), {}, { memoryPolicy: 'faasrm' });
    player.decider.headroom.update(0 as Bytes, 0 as Bytes);
    player.whole(400, 0.4, 100);
    const run = player.start(player.now + 10);
    // Peak 100 MiB of 256: [100 / .75, 256] MiB, to whole bytes.
    t.is(run.memory.reason, 'over_provisioned');
    t.is(run.memory.granted, sign > 0 ? 256 * 2 ** 20 : Math.ceil((100 * 2 ** 20) / 0.75));
  }
});

test('with the published preset options are whole units up to the cap', (t) => {
  const code = freyrSettings('freyr-code');
  const quota = createPolicy('faasrm', parameters, reading(CPU, -1));
  const decider = new Decider(
    { ...code, controlShare: 0 },
    host(),
    { quota, weight: createPolicy('memory') },
    new SeededRandom(1),
  );
  const player = new Player(decider, limits(256, 4));
  player.whole(400, 1.5);
  // Peak 1.5 of 4: [floor(1.5) + 1, 4] cores.
  t.is(player.start(player.now + 10).cpu.granted, 2000);
});

test('without weights user limits stand', (t) => {
  const decider = new Decider(
    plain,
    host(),
    { quota: createPolicy('faasrm'), weight: createPolicy('memory') },
    new SeededRandom(1),
  );
  const player = new Player(decider, limits(256, 1));
  player.whole(400, 0.1);
  const run = player.start(player.now + 10);
  t.is(run.cpu.granted, 1000);
  t.is(run.cpu.choice, 'no_target');
});

test('weights that are damaged, foreign or newer are refused by name', (t) => {
  const valid = reading(CPU, 1);
  const refused = (weights: readonly number[], given: unknown = parameters): string =>
    t.throws(() => createPolicy('faasrm', given, weights), { code: 'GLN_POLICY_PARAMETERS' })!
      .message;
  t.true(refused(valid.slice(1)).includes('1857 weights where 1858 belong'));
  t.true(refused(valid.with(7, Number.NaN)).includes('weight 7 is NaN'));
  t.true(refused(valid.with(1857, 1e30)).includes('weight 1857 is 1e+30'));
  t.true(refused(valid, { layout: FEATURE_LAYOUT + 1 }).includes('layout'));
  t.true(refused(valid, {}).includes('layout'));
  t.true(refused(valid, { ...parameters, temperature: 1 }).includes('faasrm'));
  const none = t.throws(() => createPolicy('largest-in-range', {}, valid), {
    code: 'GLN_POLICY_PARAMETERS',
  });
  t.true(none?.message.includes('it takes none'));
});

test('repaired: one choice is not drawn at evaluation (the published program samples)', (t) => {
  // Scores nearly equal: a draw would hit each of the eight.
  const weights = reading(CPU, 1).map((weight) => weight / 1000);
  const player = played(weights);
  player.whole(400, 0.4);
  const seen = new Set<number>();
  for (let i = 0; i < 100; i++) {
    const run = player.start(player.now + 10);
    seen.add(run.cpu.granted);
    player.sample(400, 0.4);
    player.finish();
  }
  t.deepEqual([...seen], [1000]);
});

test('an exploring policy draws by the softmax and reports the probability', (t) => {
  const scorer = new OptionScorer(new Float32Array(ACTOR_WEIGHTS));
  // All scores 0: uniform over four.
  scorer.score(4, 1);
  t.deepEqual(
    [0, 0.24, 0.26, 0.51, 0.99].map((draw) => scorer.sample(4, draw)),
    [0, 0, 1, 2, 3],
  );
  t.true(Math.abs(scorer.logProbability(4, 2) - Math.log(1 / 4)) < 1e-12);
  // Scores tanh(tanh(x)) of 0 and .5: .4321 apart, so p = 1 / (1 + e^-.4321) = .6064.
  const two = new OptionScorer(Float32Array.from(reading(CPU, 1).slice(0, ACTOR_WEIGHTS)));
  two.cpu[0] = 0;
  two.cpu[1] = 0.5;
  two.score(2, 1);
  const p = 1 / (1 + Math.exp(-Math.tanh(Math.tanh(0.5))));
  t.true(Math.abs(two.logProbability(2, 1) - Math.log(p)) < 1e-6);
  t.is(two.sample(2, 0.99), 1);
  t.is(two.sample(2, (1 - p) * 0.99), 0);
});

test('repaired: an outcome belongs to its own choice, even if others run in between', (t) => {
  const told: { option: number; slowdown: number; action: string; state: number[] }[] = [];
  const quota = createPolicy(
    'faasrm',
    { ...parameters, explore: true, version: 3 },
    reading(CPU, 0),
  );
  const decider = new Decider(
    { ...plain, controlShare: 0.5, controlSamples: 1 },
    host(),
    { quota, weight: createPolicy('memory') },
    new SeededRandom(3),
  );
  decider.experiences = (choice: Readonly<Choice>, slowdown, fn) => {
    t.is(choice.version, 3);
    told.push({ option: choice.option, slowdown, action: fn.action, state: [...choice.state] });
  };
  const slow = new Player(decider, limits(256, 1), '/guest/slow');
  const quick = new Player(decider, limits(256, 1), '/guest/quick');
  for (const [player, length] of [
    [slow, 1000],
    [quick, 100],
  ] as const)
    for (let i = 0; i < 20; i++) player.whole(length, 0.3);
  told.length = 0;
  // The slow one starts, ten quick ones come and go, the slow one ends: twice as late as at user
  // limits.
  const begin = Math.max(slow.now, quick.now) + 10;
  let run = slow.start(begin);
  while (run.control) {
    slow.sample(1000, 0.3);
    slow.finish();
    run = slow.start(slow.now + 10);
  }
  const granted = run.cpu.granted;
  quick.now = slow.now;
  for (let i = 0; i < 10; i++) quick.whole(100, 0.3);
  slow.now += 1700;
  slow.sample(300, 1);
  slow.finish();
  const own = told.filter(({ action }) => action === '/guest/slow');
  t.is(own.length, 1);
  // Eight amounts in [.4, 1] cores: the option that was granted.
  t.true(Math.abs(400 + (own[0]!.option * 600) / 7 - granted) < 1e-6);
  // Baseline 1000 ms with 300 ms of CPU; it had as much to do and took 2000.
  t.true(Math.abs(own[0]!.slowdown - 2) < 0.01, `${own[0]!.slowdown}`);
  for (const { slowdown } of told.filter(({ action }) => action === '/guest/quick'))
    t.true(Math.abs(slowdown - 1) < 0.01, `${slowdown}`);
});

test('repaired: no choice, no experience (published: slowdown 1)', (t) => {
  let told = 0;
  const player = played(reading(CPU, 0), { explore: true }, { controlShare: 1 });
  player.decider.experiences = () => told++;
  for (let i = 0; i < 5; i++) player.whole(400, 0.4);
  t.is(told, 0);
});

test('a choice that was clipped or not enforced gives no experience', (t) => {
  const told = (
    change: (policy: ActivationPolicy) => ActivationPolicy,
    enforced: boolean,
  ): number => {
    let experiences = 0;
    const quota = change(createPolicy('faasrm', { ...parameters, explore: true }, reading(CPU, 1)));
    const settings = { ...plain, controlShare: 0.3, controlSamples: 1 };
    const policies = { quota, weight: createPolicy('memory') };
    const decider = new Decider(settings, host(), policies, new SeededRandom(3));
    decider.experiences = () => experiences++;
    const player = new Player(decider, limits(256, 1));
    for (let i = 0; i < 40; i++) {
      player.start(player.now + 10, enforced);
      player.sample(400, 0.3);
      player.finish();
    }
    return experiences;
  };
  const bounded = (policy: ActivationPolicy): ActivationPolicy => ({
    name: policy.name,
    kind: policy.kind,
    choose: (run, grant, context) => Math.min(450, policy.choose(run, grant, context)),
    learn: (run, duration, context, now) => policy.learn?.(run, duration, context, now),
  });
  const free = told((policy) => policy, true);
  t.true(free > 10);
  t.is(
    told((policy) => policy, false),
    0,
  );
  // Of eight amounts in [.4, 1] cores one lies below .45.
  const clippedChange = told(bounded, true);
  t.true(clippedChange < free / 2, `${clippedChange} of ${free}`);
});

testProp(
  'repaired: inputs lie in [-1, 1], whatever the megabytes and milliseconds',
  [
    fc.record({
      length: fc.integer({ min: 60, max: 600_000 }),
      cores: fc.double({ min: 0.05, max: 8, noNaN: true }),
      memory: fc.integer({ min: 1, max: 250 }),
      gap: fc.integer({ min: 1, max: 10_000_000 }),
    }),
  ],
  (t, { length, cores, memory, gap }) => {
    const states: number[][] = [];
    const quota = createPolicy('faasrm', { ...parameters, explore: true }, reading(CPU, 0));
    const decider = new Decider(
      { ...plain, controlShare: 0.5, memoryPolicy: 'faasrm' },
      host(),
      { quota, weight: createPolicy('memory') },
      new SeededRandom(1),
    );
    decider.experiences = ({ state, cpu, memory: amounts, cpus, memories }) =>
      states.push([...state, ...cpu.slice(0, cpus), ...amounts.slice(0, memories)]);
    const player = new Player(decider, limits(256, 8));
    for (let i = 0; i < 12; i++) {
      player.start(player.now + gap);
      player.sample(length, cores, memory);
      player.finish();
    }
    t.true(states.every((state) => state.every((x) => x >= -1 && x <= 1)));
  },
  { numRuns: 50 },
);

test('features are logarithmic: equal ratios are equal steps', (t) => {
  // ln(1 + ms) / ln(1 + 3.6e6 ms)
  t.true(Math.abs(durationFeature(3_600_000) - 1) < 1e-12);
  t.is(durationFeature(1e12), 1);
  t.is(durationFeature(Number.NaN), 0);
  t.true(durationFeature(2000) - durationFeature(1000) > 0.04);
  // Octaves / 3: twice is 1/3, an eighth is -1.
  t.true(Math.abs(amountFeature(2000, 1000) - 1 / 3) < 1e-12);
  t.is(amountFeature(125, 1000), -1);
  t.is(amountFeature(1, 1e6), -1);
  t.is(amountFeature(Number.NaN, 1000), 0);
  t.is(rateFeature(0), 0);
  t.true(Math.abs(rateFeature(1000) - 1) < 1e-12);
});

test('memory asked for alone (weight mode) is chosen with the user’s CPU', (t) => {
  const player = played(reading(MEMORY, -1), {}, { memoryPolicy: 'faasrm' });
  player.whole(400, 0.4, 100);
  const { run } = player;
  run.reset(player.fn, player.container);
  run.startedAt = (player.now + 10) as Millis;
  run.memory.lower = 100e6;
  run.memory.upper = 200e6;
  const context = policyContext({
    settings: { ...defaultDecisionSettings, memoryPolicy: 'faasrm' },
  });
  const policy = createPolicy('faasrm', parameters, reading(MEMORY, -1));
  t.is(policy.choose(run, run.memory, context), 100e6);
});
