import test from 'ava';
import { SimdEngine } from '../../../agents/nn/index.js';
import {
  PpoAgent,
  type PpoSettings,
  Rollout,
  simulatorSettings,
  type TrainingJob,
} from '../../../agents/ppo/index.js';
import { TrainingError, TrainingThreads } from '../../../agents/ppo/training-threads.js';
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

test('an update in a thread gives bit-identical weights, many at once', async (t) => {
  const threads = new TrainingThreads(2);
  const agents = Array.from({ length: 8 }, (_, seed) => ready(seed));
  const results = await Promise.all(agents.map(({ job }) => threads.train(job)));
  agents.forEach(({ agent }, i) => {
    t.deepEqual(results[i]!.metrics, agent.update());
    t.deepEqual(results[i]!.state, agent.export());
  });
  await threads.close();
});

test('a rollout goes out and in as it is', (t) => {
  const { agent } = ready(1);
  const data = agent.rollout.export();
  const back = Rollout.from(structuredClone(data));
  t.deepEqual(back.export(), data);
  t.true(back.full && back.open === 0);
});

test('a job that cannot be learned from fails by name, and the next one is done', async (t) => {
  const threads = new TrainingThreads(1);
  const { job } = ready(2);
  const bad = threads.train({ ...job, rollout: { ...job.rollout, segments: [] } });
  const good = threads.train(job);
  await t.throwsAsync(bad, { instanceOf: TrainingError, message: /not closed/ });
  t.is((await good).state.counters.updates, 1);
  await threads.close();
});

test('a thread that dies fails its own job and is replaced', async (t) => {
  // Its first job kills this thread, every time.
  const script = new URL(
    `data:text/javascript,${encodeURIComponent(
      "import { parentPort } from 'node:worker_threads';" +
        "parentPort.on('message', () => process.exit(3));",
    )}`,
  );
  const threads = new TrainingThreads(1, script);
  const { job } = ready(3);
  const jobs = [threads.train(job), threads.train(job)];
  t.is(threads.backlog, 1);
  for (const one of jobs)
    await t.throwsAsync(one, { instanceOf: TrainingError, message: /thread ended/ });
  await threads.close();
});

test('closing fails what still waits, and what comes later', async (t) => {
  const threads = new TrainingThreads(1);
  const { job } = ready(4);
  const jobs = [threads.train(job), threads.train(job), threads.train(job)];
  const outcomes = Promise.allSettled(jobs);
  await threads.close();
  for (const outcome of await outcomes) t.is(outcome.status, 'rejected');
  await t.throwsAsync(threads.train(job), { instanceOf: TrainingError });
});
