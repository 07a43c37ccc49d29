import test from 'ava';
import type { PpoStepSettings } from '../../../agents/nn/engine.js';
import {
  type ActorCritic,
  type Engine,
  JsEngine,
  type PpoBatch,
  type PpoStepResult,
  ShapeError,
  SimdEngine,
} from '../../../agents/nn/index.js';
import {
  newActorCritic,
  PpoAgent,
  PpoLearner,
  type PpoSettings,
  Rollout,
  simulatorSettings,
} from '../../../agents/ppo/index.js';
import { normalize, RolloutError } from '../../../agents/ppo/learner.js';
import { SeededRandom } from '../../../config/index.js';

const engines: readonly Engine[] = [new SimdEngine(), new JsEngine()];
const shape = { features: 3, actions: 4 };
const small: PpoSettings = { ...simulatorSettings, hidden: [16, 16], miniBatch: 16, updates: 20 };

/** Notes every batch and result on the way. */
class Watched implements ActorCritic {
  readonly batches: PpoBatch[] = [];
  readonly settings: PpoStepSettings[] = [];
  readonly results: PpoStepResult[] = [];
  readonly inner: ActorCritic;
  constructor(inner: ActorCritic) {
    this.inner = inner;
  }
  get actor() {
    return this.inner.actor;
  }
  get critic() {
    return this.inner.critic;
  }
  ppoStep(batch: PpoBatch, settings: PpoStepSettings): PpoStepResult {
    const result = this.inner.ppoStep(batch, settings);
    this.batches.push(batch);
    this.settings.push(settings);
    this.results.push(result);
    return result;
  }
  dispose(): void {
    this.inner.dispose();
  }
}

/**
 * Episodes of 25 steps: the reward is 1 for the action that the first feature names, and action 3
 * is masked half of the time.
 */
function play(agent: PpoAgent, seed: number): number {
  const random = new SeededRandom(seed);
  const features = (): Float32Array => Float32Array.of(random.below(3), random.next(), 1);
  let rewards = 0;
  let steps = 0;
  while (!agent.ready) {
    const now = features();
    const action = agent.decide(now, Uint8Array.of(1, 1, 1, random.below(2)));
    const reward = action === now[0] ? 1 : 0;
    agent.executed(action!, reward);
    rewards += reward;
    steps++;
    if (steps % 25 === 0) agent.cut(features());
  }
  return rewards / steps;
}

const agentOf = (engine: Engine, seed: number, settings = small): PpoAgent =>
  new PpoAgent({ engine, shape, settings, rollout: 100, random: new SeededRandom(seed) });

test('an agent learns which action its features name, in either engine', (t) => {
  for (const engine of engines) {
    const agent = agentOf(engine, 1, {
      ...small,
      updates: 60,
      learningRate: { first: 3e-3, last: 1e-4 },
    });
    let last = 0;
    for (let i = 0; i < 60; i++) {
      last = play(agent, i);
      agent.update();
    }
    // By chance it would be below 1/3.
    t.true(last > 0.8, `${engine.name}: ${last}`);
  }
});

test('in the first mini-batch the ratio is 1 and nothing is clipped', (t) => {
  for (const engine of engines) {
    const agent = agentOf(engine, 2);
    play(agent, 1);
    const pair = new Watched(engine.actorCritic(...shapesOf(engine)));
    const learner = new PpoLearner(pair, small, new SeededRandom(3));
    learner.import(agent.export());
    learner.update(agent.rollout);
    t.true(pair.results[0]!.approxKl < 1e-6, `${pair.results[0]!.approxKl}`);
    t.is(pair.results[0]!.clipFraction, 0);
    t.true(pair.results[1]!.approxKl > 0);
  }
});

function shapesOf(engine: Engine) {
  const pair = newActorCritic(engine, shape, small, new SeededRandom(1));
  return [pair.actor.shape, pair.critic.shape] as const;
}

test('each epoch uses each row once, shuffled, with normalized advantages', (t) => {
  const agent = agentOf(engines[0]!, 4);
  play(agent, 2);
  const pair = new Watched(engines[0]!.actorCritic(...shapesOf(engines[0]!)));
  const learner = new PpoLearner(pair, { ...small, epochs: 2, targetKl: 10 }, new SeededRandom(3));
  learner.import(agent.export());
  const metrics = learner.update(agent.rollout);
  // 100 rows in mini-batches of 16: six and a rest of 4, twice.
  t.deepEqual(
    pair.batches.map(({ rows }) => rows),
    [16, 16, 16, 16, 16, 16, 4, 16, 16, 16, 16, 16, 16, 4],
  );
  t.is(metrics.miniBatches, 14);
  const seen = (from: number): string[] =>
    pair.batches
      .slice(from, from + 7)
      .flatMap(({ rows, inputs }) =>
        Array.from({ length: rows }, (_, row) => inputs.subarray(3 * row, 3 * row + 3).join()),
      );
  const rows = Array.from({ length: 100 }, (_, row) =>
    agent.rollout.inputs.subarray(3 * row, 3 * row + 3).join(),
  );
  t.deepEqual(seen(0).toSorted(), rows.toSorted());
  t.deepEqual(seen(7).toSorted(), rows.toSorted());
  t.notDeepEqual(seen(0), seen(7));
  const { advantages } = pair.batches[0]!;
  t.true(Math.abs(advantages.reduce((sum, a) => sum + a, 0)) < 1e-4);
  t.true(Math.abs(advantages.reduce((sum, a) => sum + a * a, 0) / 16 - 1) < 1e-4);
});

test('epochs end early when the policy has moved far, and schedules run in straight lines', (t) => {
  const agent = agentOf(engines[0]!, 5);
  play(agent, 3);
  const pair = new Watched(engines[0]!.actorCritic(...shapesOf(engines[0]!)));
  const settings: PpoSettings = {
    ...small,
    learningRate: { first: 0.1, last: 0 },
    entropy: { first: 0.01, last: 0.001 },
    epochs: 10,
    updates: 4,
  };
  const learner = new PpoLearner(pair, settings, new SeededRandom(3));
  learner.import(agent.export());
  const first = learner.update(agent.rollout);
  t.true(first.stopped && first.epochs < 10);
  t.is(first.learningRate, 0.1);
  learner.import({ ...learner.export(), counters: { updates: 2, steps: 200 } });
  const middle = learner.update(agent.rollout);
  // Half way: .05 and .0055.
  t.true(Math.abs(middle.learningRate - 0.05) < 1e-12);
  t.true(Math.abs(middle.entropyCoefficient - 0.0055) < 1e-12);
  t.is(learner.counters.updates, 3);
  t.is(learner.counters.steps, 300);
});

test('the same seed gives bit-identical weights, also when exported and resumed', (t) => {
  for (const engine of engines) {
    const run = (resume: boolean) => {
      let agent = agentOf(engine, 7);
      for (let i = 0; i < 4; i++) {
        if (resume && i === 2) {
          const state = structuredClone(agent.export());
          agent = agentOf(engine, 7);
          agent.import(state);
        }
        play(agent, i);
        agent.update();
      }
      return agent.export();
    };
    const state = run(false);
    t.deepEqual(run(false), state);
    t.deepEqual(run(true), state);
    t.is(state.counters.steps, 400);
    t.notDeepEqual(agentOf(engine, 8).export().actor, agentOf(engine, 7).export().actor);
  }
});

test('the executed action is learned, with its mask and log-probability', (t) => {
  const agent = agentOf(engines[0]!, 9);
  const mask = Uint8Array.of(1, 1, 0, 1);
  const features = Float32Array.of(0, 0.5, 1);
  for (let i = 0; i < 20; i++) {
    const action = agent.decide(features, mask);
    // A safeguard does something else than what was wanted.
    const executed = action === 0 ? 1 : 0;
    const logProbability = agent.policy.logProbability(executed);
    agent.executed(executed, 0.5);
    t.is(agent.rollout.actions[i], executed);
    t.is(agent.rollout.logProbabilities[i], Math.fround(logProbability));
    t.deepEqual(agent.rollout.masks.slice(4 * i, 4 * i + 4), mask);
  }
});

test('a step whose executed action was masked ends the segment at its own state', (t) => {
  const agent = agentOf(engines[0]!, 9);
  const mask = Uint8Array.of(1, 1, 0, 1);
  const state = (first: number): Float32Array => Float32Array.of(first, 0.5, 1);
  agent.decide(state(0), mask);
  agent.executed(1, 0.5);
  agent.decide(state(0.25), mask);
  agent.executed(2, 1);
  t.is(agent.rollout.rows, 1);
  // The state that follows the kept step is the one that the refused step was decided in.
  t.deepEqual(agent.rollout.segments, [{ from: 0, to: 1, after: state(0.25) }]);
});

test('a step that was not sampled is not learned from and ends the segment before it', (t) => {
  const agent = agentOf(engines[0]!, 9);
  const step = { mask: Uint8Array.of(1, 1, 1, 1), action: 1, reward: 0.5 };
  agent.record({ ...step, input: Float32Array.of(0, 0.5, 1), logProbability: -1 });
  const input = Float32Array.of(0.25, 0.5, 1);
  agent.record({ ...step, input, logProbability: null });
  t.deepEqual(agent.rollout.segments, [{ from: 0, to: 1, after: input }]);
});

test('a step that finds the rollout full is refused by name and not dropped', (t) => {
  const agent = agentOf(engines[0]!, 9);
  play(agent, 1);
  t.true(agent.ready);
  agent.decide(new Float32Array(3), Uint8Array.of(1, 1, 1, 1));
  t.throws(() => agent.executed(0, 1), { instanceOf: RolloutError, message: /100 rows are full/ });
});

test('the critic’s value follows a cut; nothing follows an end', (t) => {
  const engine = engines[1]!;
  const learn = (close: (rollout: Rollout) => void): PpoBatch => {
    const pair = new Watched(newActorCritic(engine, shape, small, new SeededRandom(1)));
    // A critic that says 10 of every state: kernel 0, last bias 10.
    const critic = new Float32Array(pair.critic.export().length);
    critic[critic.length - 1] = 10;
    pair.critic.import(critic);
    const rollout = new Rollout(1, { features: 3, actions: 4 });
    rollout.add({
      input: new Float32Array(3),
      mask: Uint8Array.of(1, 1, 1, 1),
      action: 0,
      logProbability: Math.log(0.25),
      reward: 1,
      discount: 0.9,
    });
    close(rollout);
    new PpoLearner(pair, { ...small, epochs: 1 }, new SeededRandom(1)).update(rollout);
    return pair.batches[0]!;
  };
  // Return = advantage + value = r + d V' : 1 + .9 x 10 = 10, or 1.
  t.true(Math.abs(learn((rollout) => rollout.cut(new Float32Array(3))).returns[0]! - 10) < 1e-5);
  t.true(Math.abs(learn((rollout) => rollout.end()).returns[0]! - 1) < 1e-5);
});

test('a rollout of one row leaves every weight finite', (t) => {
  t.deepEqual([...normalize(Float32Array.of(5))], [0]);
  for (const engine of engines) {
    const agent = new PpoAgent({
      engine,
      shape,
      settings: small,
      rollout: 1,
      random: new SeededRandom(1),
    });
    const action = agent.decide(new Float32Array(3), Uint8Array.of(1, 1, 1, 1));
    agent.executed(action!, 1);
    agent.cut(new Float32Array(3));
    const metrics = agent.update();
    t.is(metrics.skipped, 0);
    t.true([...agent.export().actor, ...agent.export().critic].every(Number.isFinite));
  }
});

test('a reward of 1e9, or one that is not a number, leaves every weight finite', (t) => {
  for (const engine of engines) {
    for (const reward of [1e9, Number.NaN, Number.POSITIVE_INFINITY]) {
      const agent = agentOf(engine, 3);
      play(agent, 1);
      agent.rollout.rewards[50] = reward;
      const metrics = agent.update();
      t.true(
        [...agent.export().actor, ...agent.export().critic].every(Number.isFinite),
        `${reward}`,
      );
      if (!Number.isFinite(reward)) t.true(metrics.skipped > 0);
    }
  }
});

test('unusable rollouts are refused by name', (t) => {
  const agent = agentOf(engines[0]!, 1);
  t.throws(() => agent.update(), { instanceOf: RolloutError });
  const action = agent.decide(new Float32Array(3), Uint8Array.of(1, 1, 1, 1));
  agent.executed(action!, 1);
  t.throws(() => agent.update(), { instanceOf: RolloutError, message: /not closed/ });
  t.throws(() => agent.rollout.cut(new Float32Array(2)), { instanceOf: ShapeError });
});
