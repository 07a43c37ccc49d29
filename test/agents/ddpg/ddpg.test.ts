import test from 'ava';
import { DdpgAgent, type DdpgSettings } from '../../../agents/ddpg/index.js';
import { DdpgLearner } from '../../../agents/ddpg/learner.js';
import { OrnsteinUhlenbeck } from '../../../agents/ddpg/noise.js';
import { ReplayMemory } from '../../../agents/ddpg/replay.js';
import { firmSettings } from '../../../agents/firm/index.js';
import { type Engine, JsEngine, ShapeError, SimdEngine } from '../../../agents/nn/index.js';
import { SeededRandom } from '../../../config/index.js';

const engines: readonly Engine[] = [new SimdEngine(), new JsEngine()];
const shape = { features: 2, actions: 2 };
const fast: DdpgSettings = {
  ...firmSettings,
  gamma: 0.5,
  actorLearningRate: 1e-3,
  tau: 0.02,
  replay: 2000,
};

/**
 * One step of a task without memory: the reward falls with the distance of each action from half
 * its feature.
 */
function play(agent: DdpgAgent, steps: number, seed: number, explore = true): number {
  const random = new SeededRandom(seed);
  const look = (): Float32Array => Float32Array.of(2 * random.next() - 1, 2 * random.next() - 1);
  let state = look();
  let sum = 0;
  for (let i = 0; i < steps; i++) {
    const action = agent.decide(state, explore)!;
    const reward = -action.reduce((cost, a, j) => cost + (a - 0.5 * state[j]!) ** 2, 0);
    const next = look();
    if (explore) {
      agent.remember({ state, action: action.slice(), reward, next, discount: fast.gamma });
      agent.update();
    }
    state = next;
    sum += reward;
  }
  return sum / steps;
}

test('an agent learns continuous actions', (t) => {
  const agent = new DdpgAgent(engines[0]!, shape, fast, new SeededRandom(1));
  const before = play(agent, 500, 99, false);
  play(agent, 3000, 1);
  const after = play(agent, 500, 99, false);
  // Standing still costs 2 x E[(x/2)^2] = 2/12 = .167.
  t.true(Math.abs(before + 1 / 6) < 0.03, `${before}`);
  t.true(after > -0.03, `${after}`);
});

test('the first critic step is towards r + d Q’, and the target follows by tau', (t) => {
  const settings: DdpgSettings = {
    ...firmSettings,
    batch: 1,
    warmUp: 1,
    replay: 1,
    tau: 0.25,
    hidden: [4],
  };
  const learner = new DdpgLearner(
    engines[1]!,
    { features: 1, actions: 1 },
    settings,
    new SeededRandom(1),
  );
  const state = learner.export();
  // Kernels 0, last bias 3: Q is 3 of everything, and so is Q'.
  const flat = new Float32Array(state.critic.length);
  flat[flat.length - 1] = 3;
  learner.import({ ...state, critic: flat, targetCritic: flat });
  const memory = new ReplayMemory(1, 1, 1);
  memory.add({
    state: Float32Array.of(0.5),
    action: Float32Array.of(0),
    reward: 1,
    next: Float32Array.of(0.1),
    discount: 0.9,
  });
  const metrics = learner.update(memory)!;
  // Error 3 - (1 + .9 x 3) = -.7: loss .5 x .49.
  t.true(Math.abs(metrics.criticLoss - 0.245) < 1e-6);
  const after = learner.export();
  const moved = after.critic.at(-1)! - 3;
  // Adam's first step is its rate, uphill.
  t.true(Math.abs(moved - settings.criticLearningRate) < 1e-5, `${moved}`);
  t.true(Math.abs(after.targetCritic.at(-1)! - (3 + 0.25 * moved)) < 1e-6);
});

test('noise returns to 0 and is as wide as its settings say', (t) => {
  const { theta, sigma, step } = firmSettings.noise;
  const noise = new OrnsteinUhlenbeck(1, firmSettings.noise);
  const random = new SeededRandom(2);
  let sum = 0;
  let squares = 0;
  const draws = 50_000;
  for (let i = 0; i < draws; i++) {
    noise.advance(random);
    sum += noise.values[0]!;
    squares += noise.values[0]! ** 2;
  }
  // Stationary variance of x' = (1 - theta dt) x + sigma sqrt(dt) N: sigma^2 dt / (1 - (1 - theta
  // dt)^2).
  const variance = (sigma ** 2 * step) / (1 - (1 - theta * step) ** 2);
  t.true(Math.abs(sum / draws) < 0.05, `${sum / draws}`);
  t.true(Math.abs(squares / draws / variance - 1) < 0.1, `${squares / draws} of ${variance}`);
});

test('a memory keeps the newest steps and refuses values that are not finite', (t) => {
  const memory = new ReplayMemory(300, 1, 1);
  const step = (i: number) => ({
    state: Float32Array.of(i),
    action: Float32Array.of(-i),
    reward: 2 * i,
    next: Float32Array.of(i + 1),
    discount: i % 2,
  });
  for (let i = 0; i < 1000; i++) t.true(memory.add(step(i)));
  t.is(memory.size, 300);
  const { states, actions, rewards, next, discounts } = memory.sample(500, new SeededRandom(3));
  for (let row = 0; row < 500; row++) {
    const i = states[row]!;
    t.true(i >= 700 && i < 1000);
    t.deepEqual([actions[row], rewards[row], next[row], discounts[row]], [-i, 2 * i, i + 1, i % 2]);
  }
  t.true(new Set(states).size > 200);
  t.false(memory.add({ ...step(1), reward: Number.NaN }));
  t.false(memory.add({ ...step(1), next: Float32Array.of(Number.POSITIVE_INFINITY) }));
  t.throws(() => memory.add({ ...step(1), state: new Float32Array(2) }), {
    instanceOf: ShapeError,
  });
});

test('nothing is learned before the warm-up; a broken actor decides on nothing', (t) => {
  const agent = new DdpgAgent(engines[0]!, shape, fast, new SeededRandom(1));
  t.is(agent.update(), null);
  const state = agent.export();
  agent.import({ ...state, actor: state.actor.map(() => Number.NaN) });
  t.is(agent.decide(new Float32Array(2), false), null);
});

test('the same seed gives the same weights', (t) => {
  for (const engine of engines) {
    const run = () => {
      const agent = new DdpgAgent(engine, shape, fast, new SeededRandom(4));
      play(agent, 200, 1);
      return agent.export();
    };
    t.deepEqual(run(), run());
  }
});

test('actions stay in [-1, 1] whatever the noise', (t) => {
  const wild = { ...fast, noise: { ...fast.noise, sigma: 5 } };
  const agent = new DdpgAgent(engines[0]!, shape, wild, new SeededRandom(5));
  for (let i = 0; i < 200; i++)
    t.true(agent.decide(new Float32Array(2), true)!.every((a) => a >= -1 && a <= 1));
});
