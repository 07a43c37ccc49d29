import { type RunningAgentHost, runAgentHost } from '../../agents/host/index.js';
import type { ResourceManager } from '../../agents/index.js';
import { type Broker, subjects, wildcards } from '../../broker/index.js';
import { decodeTarget, encodeMessage } from '../../broker/messages/index.js';
import { millicores, SeededRandom, systemClock, systemTimers } from '../../config/index.js';
import { syntheticObservation } from '../observation.js';
import { type BenchRow, row } from '../report.js';

const FUNCTIONS = 1000;

/** As large as a learning agent's small state: what it saw on two hosts. */
const carrying: ResourceManager<{ seen: number; filler: string }> = {
  name: 'carrying',
  initialState: () => ({ seen: 0, filler: 'x'.repeat(600) }),
  phase: () => 'managing',
  decide: (state) => ({
    state: { ...state, seen: state.seen + 1 },
    decision: { cpu: millicores(1000 + state.seen), actions: [0, 0, 0] },
  }),
  saveState: (state) => state,
  loadState: (_, saved) => saved as { seen: number; filler: string },
};

async function until(what: string, done: () => boolean): Promise<void> {
  const end = performance.now() + 60_000;
  while (!done()) {
    if (performance.now() > end) throw new Error(`not within a minute: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/**
 * Two agent hosts on a real nats-server with 1000 functions between them: one stops, and the other
 * goes on with its functions and agents.
 */
export async function benchHandOver(
  connect: (name: string) => Promise<Broker>,
): Promise<BenchRow[]> {
  const hook = await connect('hook');
  const targetCpu = new Map<string, number>();
  hook.subscribe(wildcards.targets, ({ data }) => {
    const decoded = decodeTarget(data);
    if (decoded.ok) targetCpu.set(decoded.message.function, Number(decoded.message.cpu));
  });
  const start = async (host: string): Promise<RunningAgentHost> =>
    runAgentHost({
      broker: await connect(host),
      clock: systemClock,
      timers: systemTimers,
      random: new SeededRandom(1),
      manager: carrying as ResourceManager,
      intervalMs: 10_000,
      host,
      resident: 2 * FUNCTIONS,
    });
  const names = Array.from({ length: FUNCTIONS }, (_, i) => `/guest/f${i}`);
  let step = 0;
  const round = async (): Promise<void> => {
    targetCpu.clear();
    step++;
    for (const name of names)
      hook.publish(subjects.observation(name), encodeMessage(syntheticObservation(name, step)));
    await until('an answer for each function', () => targetCpu.size === FUNCTIONS);
  };
  const one = await start('agents-1');
  await until('everything owned', () => one.ownedShards === 64);
  const two = await start('agents-2');
  for (let i = 0; i < 3; i++) await round();
  const begun = performance.now();
  const stopped = one.stop();
  await until('everything taken over', () => two.ownedShards === 64);
  const shards = performance.now() - begun;
  await round();
  const answered = performance.now() - begun;
  await stopped;
  // The fourth observation of each: 1000 + 3 where its agent came along.
  const transferred = [...targetCpu.values()].filter(
    (requestedCpu) => requestedCpu === 1003,
  ).length;
  await two.stop();
  return [
    row('scale.hand_over', shards, 'ms', {
      goal: '< 5000',
      note: '1000 functions, from the stop to all 64 shards served',
    }),
    row('scale.hand_over_answered', answered, 'ms', {
      goal: '< 5000',
      note: 'until each of 1000 observations has its answer',
    }),
    row('scale.agents_along', transferred, 'of 1000', {
      goal: '1000',
      note: 'went on from where they were',
    }),
  ];
}
