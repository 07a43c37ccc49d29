import test from 'ava';
import {
  FaasrmLearner,
  type FaasrmSettings,
  faasrmCheckpoint,
  faasrmParameters,
  faasrmSettings,
  faasrmState,
  faasrmWeights,
  shippedFaasrm,
} from '../../../agents/faasrm/index.js';
import { experienceReward } from '../../../agents/faasrm/reward.js';
import { packCheckpoint, unpackCheckpoint } from '../../../agents/nn/checkpoint/store.js';
import { defaultEngine, JsEngine, type PpoBatch } from '../../../agents/nn/index.js';
import { InlineTrainer } from '../../../agents/ppo/index.js';
import type { FaasrmExperience } from '../../../broker/messages/index.js';
import { SeededRandom } from '../../../config/index.js';
import { createPolicy, OptionScorer } from '../../../openwhisk-plugin/decision/index.js';
import { LEVELS, STATE_FEATURES } from '../../../rules/index.js';
import { newOptionScorer } from '../nn/fixtures.js';

const levels = Array.from({ length: LEVELS }, (_, i) => -1 + (2 * i) / (LEVELS - 1));
const settings: FaasrmSettings = {
  ...faasrmSettings,
  options: LEVELS,
  rollout: 512,
  price: 0,
  ppo: { ...faasrmSettings.ppo, learningRate: { first: 5e-3, last: 5e-3 }, miniBatch: 128 },
};

const trainer = new InlineTrainer(defaultEngine(() => undefined));
const update = (learner: FaasrmLearner): void => learner.update(() => undefined);
/** The weights of a learner change with its updates only. */
const scorers = new WeakMap<
  FaasrmLearner,
  { readonly version: number; readonly scorer: OptionScorer }
>();

function scorerOf(learner: FaasrmLearner): OptionScorer {
  const known = scorers.get(learner);
  if (known?.version === learner.version) return known.scorer;
  const scorer = new OptionScorer(learner.state.actor);
  scorers.set(learner, { version: learner.version, scorer });
  return scorer;
}

/** An experience sampled from the learner's weights, as in the hook: one of eight CPU amounts. */
function drawn(
  learner: FaasrmLearner,
  random: SeededRandom,
  outcome: (state: number, option: number) => number,
): FaasrmExperience {
  const scorer = scorerOf(learner);
  const state = new Array<number>(STATE_FEATURES).fill(0);
  state[5] = random.next() < 0.5 ? -1 : 1;
  scorer.features.set(state);
  scorer.cpu.set(levels);
  scorer.memory[0] = 0;
  scorer.score(LEVELS, 1);
  const option = scorer.sample(LEVELS, random.next());
  return {
    function: '/guest/f',
    weights: learner.version,
    state,
    cpu: levels,
    memory: [0],
    option,
    logProbability: scorer.logProbability(LEVELS, option),
    share: 0.1,
    slowdown: outcome(state[5]!, option),
  };
}

function best(learner: FaasrmLearner, state: number): number {
  const scorer = scorerOf(learner);
  scorer.features.fill(0);
  scorer.features[5] = state;
  scorer.cpu.set(levels);
  scorer.memory[0] = 0;
  scorer.score(LEVELS, 1);
  return scorer.best(LEVELS);
}

test('opposite states learn opposite options (each state with its own action)', (t) => {
  // The first option is best in one state, the last in the other. Ratios of all states with all
  // actions (T x T) see one mean of both, in which all options are alike: no such update could tell
  // the two states apart.
  const learner = new FaasrmLearner({ settings, seed: 1, trainer });
  const random = new SeededRandom(2);
  for (let i = 0; i < 15; i++) {
    while (!learner.ready)
      learner.take(
        drawn(
          learner,
          random,
          (state, option) => (state < 0 ? option : LEVELS - 1 - option) / LEVELS + 0.5,
        ),
      );
    update(learner);
  }
  t.is(best(learner, -1), 0);
  t.is(best(learner, 1), LEVELS - 1);
});

test('a batch’s gradient is the mean of its rows’', (t) => {
  const rows = 3;
  const width = LEVELS * 11;
  const random = new SeededRandom(3);
  const draw = (count: number): Float32Array =>
    Float32Array.from({ length: count }, () => 2 * random.next() - 1);
  const inputs = draw(rows * width);
  const actions = Int32Array.of(1, 4, 6);
  const advantages = Float32Array.of(1, -2, 0.5);
  const of = (from: number, to: number): PpoBatch => ({
    rows: to - from,
    inputs: inputs.slice(from * width, to * width),
    actions: actions.slice(from, to),
    masks: new Uint8Array((to - from) * LEVELS).fill(1),
    logProbabilities: new Float32Array(to - from).fill(-Math.log(LEVELS)),
    advantages: advantages.slice(from, to),
    returns: new Float32Array(to - from),
  });
  const step = {
    learningRate: 1,
    beta1: 0,
    beta2: 0.999,
    epsilon: 1e-5,
    maxGradNorm: Number.MAX_VALUE,
    clip: 0.2,
    entropyCoefficient: 0.01,
    valueCoefficient: 0.5,
  };
  // With beta1 0 Adam's first moment is the gradient.
  const gradient = (batch: PpoBatch): Float32Array => {
    const pair = newOptionScorer(new JsEngine(), LEVELS, new SeededRandom(4));
    pair.ppoStep(batch, step);
    return pair.actor.exportMoments().first;
  };
  const whole = gradient(of(0, rows));
  const each = [0, 1, 2].map((row) => gradient(of(row, row + 1)));
  for (let i = 0; i < whole.length; i++) {
    const mean = each.reduce((sum, one) => sum + one[i]!, 0) / rows;
    t.true(Math.abs(whole[i]! - mean) <= 1e-6 + 1e-4 * Math.abs(mean));
  }
});

test('rewards that are scaled or shifted give the same result (normalized advantages)', (t) => {
  const actor = (scale: number, shift: number): Float32Array => {
    const only = { ...settings, ppo: { ...settings.ppo, epochs: 1, miniBatch: settings.rollout } };
    const learner = new FaasrmLearner({ settings: only, seed: 1, trainer });
    const random = new SeededRandom(5);
    while (!learner.ready)
      learner.take(drawn(learner, random, (_, option) => 1 + scale * (option / LEVELS) + shift));
    update(learner);
    return learner.state.actor;
  };
  const one = actor(0.1, 0);
  const other = actor(0.3, 0.5);
  // Values are subtracted before: they are of the order of the untrained critic's output, so not to
  // the last digit.
  const moved = (weights: Float32Array): number => Math.hypot(...weights);
  t.true(Math.abs(moved(one) / moved(other) - 1) < 0.02);
  const alike = one.reduce((sum, w, i) => sum + w * other[i]!, 0) / (moved(one) * moved(other));
  t.true(alike > 0.99, `${alike}`);
});

test('each experience is its own task: rewards of others do not affect it', (t) => {
  // Rewards that follow a good choice are bad and the other way round: with a discounted sum over
  // the sequence the credit would cancel.
  const learner = new FaasrmLearner({ settings, seed: 1, trainer });
  const random = new SeededRandom(6);
  for (let i = 0; i < 15; i++) {
    let last = 0;
    while (!learner.ready) {
      const forced = last === 0;
      const experience = drawn(learner, random, (_, option) => 1 - 0.5 * (option / LEVELS));
      // Every second experience is a loss as large as the gain before it.
      learner.take(forced ? experience : { ...experience, slowdown: last });
      last = forced ? 2 - experience.slowdown : 0;
    }
    update(learner);
  }
  t.is(best(learner, 1), LEVELS - 1);
});

test('the reward is the published terms of one completion, less the price', (t) => {
  const experience = {
    state: [0, 0.25, 0, 0, 0, 0, 0, 0, 0],
    share: 0.5,
    slowdown: 0.8,
  } as unknown as FaasrmExperience;
  // -s + (1 - s) = 1 - 1.6; three quarters of the host are taken, half of it was asked for.
  t.true(Math.abs(experienceReward(experience, 0) - -0.6) < 1e-12);
  t.true(Math.abs(experienceReward(experience, 2) - (-0.6 - 2 * 0.75 * 0.5)) < 1e-12);
  // -s - (s - 1) at 2; at 4 and above 1 - 8.
  t.is(experienceReward({ ...experience, slowdown: 2 }, 0), -3);
  t.is(experienceReward({ ...experience, slowdown: 100 }, 0), -7);
});

test('experiences of outdated weights, or with too many options, are refused', (t) => {
  const learner = new FaasrmLearner({ settings, seed: 1, trainer });
  const random = new SeededRandom(2);
  const experience = (): FaasrmExperience => drawn(learner, random, () => 1);
  t.true(learner.take(experience()));
  t.false(learner.take({ ...experience(), weights: 1 }), 'of weights that are still to come');
  t.false(learner.take({ ...experience(), memory: [0, 0.5] }), '16 options where 8 have room');
  for (let i = 0; i < 3; i++) {
    while (!learner.ready) learner.take(experience());
    update(learner);
  }
  t.true(learner.take({ ...experience(), weights: 2 }));
  t.false(learner.take({ ...experience(), weights: 1 }));
  t.is(learner.refused, 3);
});

test('weights survive a message and a checkpoint, and then train alike', (t) => {
  const make = (state?: ReturnType<typeof faasrmState>) =>
    new FaasrmLearner({ settings, seed: 1, trainer, state });
  const first = make();
  const trainOn = (learner: FaasrmLearner, seed: number): void => {
    const random = new SeededRandom(seed);
    while (!learner.ready) learner.take(drawn(learner, random, (_, option) => 1 + option / 8));
    update(learner);
  };
  trainOn(first, 1);
  const packed = packCheckpoint(faasrmCheckpoint(first.state, settings, 1));
  const second = make(faasrmState('here', unpackCheckpoint('here', packed)));
  t.is(second.version, 1);
  trainOn(first, 2);
  trainOn(second, 2);
  t.deepEqual(second.state.actor, first.state.actor);
  t.notThrows(() =>
    createPolicy('faasrm', faasrmParameters(first.version, true), faasrmWeights(first.state)),
  );
  const foreign = { ...faasrmCheckpoint(first.state, settings, 1), configuration: { layout: 99 } };
  t.throws(() => faasrmState('there', foreign), { code: 'GLN_CHECKPOINT_FOREIGN' });
});

test('weights come with the product, for hooks and for the published rules', (t) => {
  for (const name of ['cluster', 'freyr-2021'] as const) {
    const state = shippedFaasrm(name);
    t.true(state !== null && state.counters.updates > 0);
    t.notThrows(() => createPolicy('faasrm', faasrmParameters(0, false), faasrmWeights(state!)));
  }
});

test('room for more options than are in use changes no update', (t) => {
  const learned = [LEVELS, LEVELS * LEVELS].map((options) => {
    const learner = new FaasrmLearner({
      settings: { ...settings, options, rollout: 64 },
      seed: 3,
      trainer,
      state: shippedFaasrm('cluster'),
    });
    const random = new SeededRandom(5);
    while (!learner.ready) learner.take(drawn(learner, random, (state) => state));
    update(learner);
    return learner.state;
  });
  t.deepEqual(learned[1], learned[0]);
});
