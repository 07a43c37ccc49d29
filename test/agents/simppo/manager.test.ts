import test from 'ava';
import { JsEngine } from '../../../agents/nn/index.js';
import {
  InlineTrainer,
  ThreadTrainer,
  type TrainingJob,
  type TrainingResult,
  train,
} from '../../../agents/ppo/index.js';
import { newWeights } from '../../../agents/simppo/base-policy.js';
import {
  createSimppo,
  hookRules,
  SimppoManager,
  type SimppoSettings,
  simppoSettings,
  threadEngine,
} from '../../../agents/simppo/index.js';
import { configSchema, type Millis } from '../../../config/index.js';
import { granted } from '../../support/observations.js';
import { activations, cap, online, view } from './scene.js';

const engine = new JsEngine();
const jobs: TrainingJob[] = [];

/** Keeps what it is given, and learns it. */
class Watched extends InlineTrainer {
  override train(job: TrainingJob, done: Parameters<InlineTrainer['train']>[1]): void {
    jobs.push(job);
    super.train(job, done);
  }
}

function manager(settings: SimppoSettings = online, seed = 1): SimppoManager {
  const trainer = new Watched(engine);
  return new SimppoManager({ name: 'simppo', settings, engine, trainer, base: null, seed, cap });
}

/**
 * An under-provisioned function: activations take 100 ms on the cap's 4 cores and 100 x 4000 / CPU
 * on less; 400 ms in the control arm. `clip`: the hook's grant for a target. Returns the CPU held
 * in each step.
 */
function play(
  agent: SimppoManager,
  steps: number,
  clip = (target: number) => Math.max(950 / 0.75, target),
): number[] {
  let state = agent.initialState('/guest/f');
  let cpu = 1000;
  return Array.from({ length: steps }, (_, i) => {
    const seen = view({
      ...activations(20, 400_000 / cpu),
      peak: { cpu: 950 as never, memory: 1 as never },
      granted: granted(cpu, 256),
      control: { activations: 1, mean: 400, p99: 400 },
    });
    const result = agent.decide(state, seen, (10_000 * i) as Millis);
    state = result.state;
    cpu = clip(result.decision.cpu ?? 1000);
    return cpu;
  });
}

test.serial(
  'agents learn: who needs more CPU gets to the cap, which a random walk does not',
  (t) => {
    // Reward .7 + .5 ln(CPU / 1000): the more the better, cut at 2718 millicores.
    const settings = { ...online, reward: { ...online.reward, utilization: 0 } };
    const held = play(
      manager({ ...settings, ppo: { ...settings.ppo, learningRate: { first: 3e-3, last: 3e-3 } } }),
      4000,
    );
    const late = held.slice(-500);
    t.true(
      late.filter((cpu) => cpu > 2300).length > 400,
      `${late.filter((cpu) => cpu > 2300).length} of 500`,
    );
  },
);

test.serial('the same seed, the same decisions; another seed, others', (t) => {
  const once = play(manager(), 300);
  t.deepEqual(play(manager(), 300), once);
  t.notDeepEqual(play(manager(online, 2), 300), once);
});

test.serial('a clipped step enters the rollout as no step, with its mask and probability', (t) => {
  jobs.length = 0;
  play(manager(), 80, () => 1300);
  const [{ rollout }] = jobs as [TrainingJob];
  t.is(rollout.rows, 64);
  // The first target was 1000 and 1300 was granted. From then on nothing moves.
  t.true(rollout.actions.subarray(1).every((action) => action === 0));
  t.true(rollout.masks.every((allowed, i) => i % 7 !== 0 || allowed === 1));
  t.true(
    rollout.logProbabilities.every((ln) => ln < 0 && ln > -4),
    'of staying, not of what was wanted',
  );
});

test.serial('steps are discounted by their length, and a stale target is not learned from', (t) => {
  jobs.length = 0;
  const agent = manager({ ...online, batch: 3 });
  let state = agent.initialState('/guest/f');
  for (const at of [0, 10_000, 30_000, 61_000, 66_000, 76_000]) {
    state = agent.decide(state, view({ granted: granted(1000, 256) }), at as Millis).state;
  }
  const [job] = jobs;
  // Gamma .9 a step of 10 s: one, two, half a one; 31 s is past the hooks' 30 s.
  const rounded = [...(job?.rollout.discounts ?? [])].map((discount) =>
    Number(discount.toFixed(6)),
  );
  t.deepEqual(rounded, [0.9, 0.81, Number((0.9 ** 0.5).toFixed(6))]);
  t.deepEqual(
    job?.rollout.segments.map(({ from, to }) => [from, to]),
    [
      [0, 2],
      [2, 3],
    ],
  );
});

test.serial('how long a target is in force is configured, in weight mode too', (t) => {
  const rewards = (targetStaleMs: number) => {
    const hook = hookRules(configSchema.parse({ decision: { targetStaleMs } }).decision);
    const agent = manager({ ...online, hook });
    const seen = view({ cpuMode: 'weight' });
    const { state } = agent.decide(agent.initialState('/guest/f'), seen, 0 as Millis);
    return agent.decide(state, seen, 20_000 as Millis).reward;
  };
  t.is(rewards(19_999), undefined);
  t.is(typeof rewards(20_000), 'number');
});

test.serial('a step with only control runs is no step, and the target is unchanged', (t) => {
  const agent = manager();
  const { state, decision } = agent.decide(
    agent.initialState('/guest/f'),
    view({ activations: 0, control: { activations: 1, mean: 5, p99: 5 } }),
    0 as Millis,
  );
  t.deepEqual(decision, { cpu: 1000 as never, actions: [0, 0, 0] });
  t.is(state.hosts['invoker-1']?.control.mean, 5);
});

test.serial(
  'an agent serves until it is told to retrain, and serves again after its updates',
  (t) => {
    const agent = manager({ ...online, begin: 'serving', batch: 8, retrainUpdates: 2 });
    let state = agent.initialState('/guest/f');
    const phases: string[] = [];
    for (let i = 0; i < 40; i++) {
      if (i === 10) state = agent.retrain(state);
      state = agent.decide(state, view(), (10_000 * i) as Millis).state;
      phases.push(agent.phase(state));
    }
    t.true(phases.slice(0, 10).every((phase) => phase === 'serving'));
    t.is(phases[10], 'online');
    // Two updates of eight steps each, begun with the step at 10.
    t.is(phases.indexOf('serving', 10), 27);
  },
);

test.serial('where retraining ends, the last step is followed by the state that ended it', (t) => {
  jobs.length = 0;
  const agent = manager({ ...online, begin: 'serving', batch: 8, retrainUpdates: 1 });
  const busy = (share: number) => view({}, { features: [share, 1, 0.1, 0.3, 0.1, 0.2] });
  const play = (fn: string, steps: number, last: number): void => {
    let state = agent.retrain(agent.initialState(fn));
    for (let i = 0; i < steps; i++) {
      const seen = busy(i === steps - 1 ? last : 0.25);
      state = agent.decide(state, seen, (10_000 * i) as Millis).state;
    }
  };
  // The ninth decision has eight steps for the update; the tenth records one more, and serves.
  play('/guest/f', 10, 0.75);
  play('/guest/g', 8, 0.25);
  const { segments, inputs } = jobs[1]!.rollout;
  t.deepEqual([segments[0]!.from, segments[0]!.to], [0, 1]);
  const at = inputs.indexOf(0.25);
  t.is(segments[0]!.after![at], 0.75);
});

test.serial('few activations are learned from after a time limit', (t) => {
  jobs.length = 0;
  const hook = { ...online.hook, targetStale: 60_000 as Millis };
  const agent = manager({ ...online, hook, minBatch: 4, batchMs: 100_000 as Millis });
  let state = agent.initialState('/guest/f');
  const rows: number[] = [];
  // A step every 10 s. The first row is decided at 0 s and ten wait at 100 s; a batch of 64 would
  // take 640 s.
  for (let i = 0; i <= 21; i++) {
    state = agent.decide(state, view(activations(1, 100)), (10_000 * i) as Millis).state;
    rows.push(jobs.length);
  }
  t.deepEqual([rows[9], rows[10], rows[19], rows[20]], [0, 1, 1, 2]);
  t.deepEqual(
    jobs.map(({ rollout }) => rollout.rows),
    [10, 10],
  );
  // Every 40 s: three rows have waited for their time at 120 s, four are enough.
  for (let i = 1; i <= 5; i++)
    state = agent.decide(state, view(activations(1, 100)), (210_000 + 40_000 * i) as Millis).state;
  t.deepEqual(
    jobs.slice(2).map(({ rollout }) => rollout.rows),
    [4],
  );
});

test.serial(
  'the shipped policies learn within minutes from one activation every few seconds',
  (t) => {
    for (const name of ['simppo', 'single-agent'] as const) {
      const agent = createSimppo(name, { cap });
      const { base } = agent.quota;
      const { actor, critic } = base.state;
      let state = agent.retrain(agent.initialState('/guest/f'));
      let seconds = 0;
      // Latencies differ, as equal rewards give no gradient.
      while (base.updates === 0 && seconds < 3600) {
        const seen = view({ ...activations(2, 100 + (seconds % 70)), granted: granted(1000, 256) });
        state = agent.decide(state, seen, (1000 * seconds) as Millis).state;
        seconds += 10;
      }
      t.is(base.updates, 1);
      t.true(seconds <= 600, `${seconds} s`);
      t.notDeepEqual(base.state.actor, actor);
      t.notDeepEqual(base.state.critic, critic);
    }
  },
);

test.serial(
  'a rate counts activations over the time between steps, however long a step is, on all hosts',
  (t) => {
    const agent = manager();
    const rateAfter = (everyMs: number, spanMs: number, hosts: string[]): number => {
      let state = agent.initialState('/guest/f');
      for (let i = 1; i <= 2000; i++)
        state = agent.decide(
          state,
          view({
            ...activations(1, 100),
            host: hosts[i % hosts.length]!,
            span: spanMs as Millis,
            control: { activations: 0, mean: 0, p99: 0 },
          }),
          (everyMs * i) as Millis,
        ).state;
      return state.rate;
    };
    // An activation every 12 s, in steps that are closed 1 s after it: 1 / 12 a second, not one.
    t.true(Math.abs(rateAfter(12_000, 1000, ['invoker-1']) - 1 / 12) < 0.001);
    // An activation a second on each of two hosts: two a second.
    t.true(Math.abs(rateAfter(500, 1000, ['invoker-1', 'invoker-2']) - 2) < 0.01);
  },
);

test.serial('updates until an agent serves are counted on the weights that it learns by', (t) => {
  const agent = manager({ ...online, begin: 'serving', ownRate: 1, batch: 8, retrainUpdates: 2 });
  const play = (
    fn: string,
    count: number,
    steps: number,
    state = agent.initialState(fn),
    from = 0,
  ) => {
    for (let i = 0; i < steps; i++)
      state = agent.decide(
        state,
        view(activations(count, 100)),
        (from + 10_000 * i) as Millis,
      ).state;
    return state;
  };
  // Others have brought the base policy to five updates.
  for (let i = 0; agent.base.updates < 5; i++)
    play(`/guest/g${i}`, 1, 19, agent.retrain(agent.initialState(`/guest/g${i}`)));
  // Twenty activations a step: after seven steps it has weights of its own, which have had no
  // update.
  let state = agent.retrain(agent.initialState('/guest/f'));
  let steps = 0;
  for (; state.phase === 'online' && steps < 200; steps++)
    state = play('/guest/f', 20, 1, state, 10_000 * steps);
  t.is(state.phase, 'serving');
  // Two updates of eight rows each on either side of the change: not seven of its own.
  t.true(steps >= 18 && steps <= 30, `${steps}`);
});

test.serial(
  'a function called often has weights of its own, the others share the base policy',
  (t) => {
    const agent = manager({ ...online, ownRate: 1, batch: 16 });
    const before = agent.base.state;
    let often = agent.initialState('/guest/often');
    for (let i = 0; i < 60; i++) {
      // 20 activations in 10 s are two a second.
      often = agent.decide(often, view(), (10_000 * i) as Millis).state;
    }
    t.is(agent.base.state, before, 'seven steps until its rate is known are no batch');
    let seldom = agent.initialState('/guest/seldom');
    for (let i = 0; i < 60; i++)
      seldom = agent.decide(seldom, view(activations(1, 100)), (10_000 * i) as Millis).state;
    t.not(agent.base.state, before);
  },
);

test.serial(
  'a worker thread learns the same, to the bit, and decisions do not wait for it',
  async (t) => {
    jobs.length = 0;
    play(manager(), 70);
    const [job] = jobs as [TrainingJob];
    const trainer = new ThreadTrainer();
    let answered = false;
    const there = new Promise<TrainingResult | null>((resolve) =>
      trainer.train(job, (result) => {
        answered = true;
        resolve(result);
      }),
    );
    t.false(answered);
    const result = await there;
    t.deepEqual(result?.state, train(threadEngine(), job).state);
    await trainer.close();
  },
);

test.serial('the shipped policies load and serve; they differ in what they see', (t) => {
  for (const name of ['simppo', 'single-agent'] as const) {
    const agent = createSimppo(name, { cap });
    t.is(agent.phase(agent.initialState('/guest/f')), 'serving');
    for (const { base } of [agent.weight, agent.quota]) t.true(base.state.counters.updates > 0);
  }
  t.is(simppoSettings.ppo.hidden.length, 2);
});

test.serial('untrained weights begin nearly uniform', (t) => {
  const { actor } = newWeights({ engine, settings: online, seed: 3 });
  // The last layer's gain is .01.
  t.true(actor.slice(-7 * 17).every((weight) => Math.abs(weight) < 0.02));
});
