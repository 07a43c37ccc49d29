import test from 'ava';
import { SimdEngine } from '../../../agents/nn/index.js';
import {
  PpoAgent,
  type PpoSettings,
  Rollout,
  simulatorSettings,
  type TrainingJob,
  TrainingQueue,
} from '../../../agents/ppo/index.js';
import { silentLogger } from '../../../broker/index.js';
import { SeededRandom } from '../../../config/index.js';

const shape = { features: 3, actions: 4 };
const settings: PpoSettings = { ...simulatorSettings, hidden: [16], updates: 10 };
const engine = new SimdEngine();

/** An agent with a full rollout, and the job that updates it. */
function ready(seed: number): { agent: PpoAgent; job: TrainingJob } {
  const agent = new PpoAgent({
    engine,
    shape,
    settings,
    rollout: 60,
    random: new SeededRandom(seed),
  });
  const random = new SeededRandom(seed + 100);
  while (!agent.ready) {
    const features = Float32Array.from({ length: 3 }, () => random.next());
    const action = agent.decide(features, Uint8Array.of(1, 1, random.below(2), 1));
    agent.executed(action!, random.next());
    if (agent.rollout.rows % 20 === 0) agent.cut(features);
  }
  return {
    agent,
    job: { shape, settings, seed, state: agent.export(), rollout: agent.rollout.export() },
  };
}

test('an update in the thread gives bit-identical weights', async (t) => {
  const queue = new TrainingQueue();
  t.teardown(() => queue.close());
  const agents = Array.from({ length: 4 }, (_, seed) => ready(seed));
  const results = await Promise.all(agents.map(({ job }) => queue.learn(job)));
  agents.forEach(({ agent }, i) => {
    t.deepEqual(results[i]!.metrics, agent.update());
    t.deepEqual(results[i]!.state, agent.export());
  });
});

test('a job that cannot be learned from fails, and the next one is done', async (t) => {
  const warnings: unknown[] = [];
  const logger = { ...silentLogger, warn: (about: unknown) => void warnings.push(about) };
  const queue = new TrainingQueue({ logger });
  t.teardown(() => queue.close());
  const { job } = ready(2);
  const [bad, good] = await Promise.all([
    queue.learn({ ...job, rollout: { ...job.rollout, segments: [] } }),
    queue.learn(job),
  ]);
  t.is(bad, null);
  t.is(good!.state.counters.updates, 1);
  t.regex((warnings[0] as { error: string }).error, /not closed/);
});

test('a rollout goes out and in as it is', (t) => {
  const { agent } = ready(1);
  const data = agent.rollout.export();
  const back = Rollout.from(structuredClone(data));
  t.deepEqual(back.export(), data);
  t.true(back.full && back.open === 0);
});
