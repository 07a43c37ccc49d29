import { messageOf, SeededRandom } from '../../config/index.js';
import {
  ENGINES,
  type Engine,
  type EngineName,
  type PpoBatch,
  type PpoStepSettings,
} from './engine.js';
import { loadEngine } from './engines.js';
import { adamDefaults } from './network.js';
import { type NetworkShape, orthogonal } from './shape.js';

/** The networks of all speed figures: SIMPPO's actor and critic. */
export const speedActor: NetworkShape = { widths: [20, 64, 64, 10], activation: 'tanh' };
const speedCritic: NetworkShape = { widths: [20, 64, 64, 1], activation: 'tanh' };

const speedSettings: PpoStepSettings = {
  ...adamDefaults,
  clip: 0.2,
  entropyCoefficient: 0.01,
  valueCoefficient: 0.5,
};

/** Uniform draws: how long a step takes does not depend on what is in it. */
function speedBatch(rows: number): PpoBatch {
  const random = new SeededRandom(1);
  const draw = (length: number): Float32Array =>
    Float32Array.from({ length }, () => 2 * random.next() - 1);
  const inputs = draw(rows * 20);
  return {
    rows,
    inputs,
    actions: Int32Array.from({ length: rows }, () => random.below(10)),
    masks: new Uint8Array(rows * 10).fill(1),
    logProbabilities: new Float32Array(rows).fill(-Math.log(10)),
    advantages: draw(rows),
    returns: draw(rows),
  };
}

/** Median of the mean time per call, ms, over rounds that take about `millis` together. */
export function timePerCall(call: () => void, millis: number, rounds = 5): number {
  const begin = performance.now();
  let warm = 0;
  while (performance.now() - begin < millis / 5) {
    call();
    warm++;
  }
  const calls = Math.max(1, Math.round((warm * 4) / rounds));
  const means = Array.from({ length: rounds }, () => {
    const start = performance.now();
    for (let i = 0; i < calls; i++) call();
    return (performance.now() - start) / calls;
  });
  return means.sort((a, b) => a - b)[Math.floor(rounds / 2)]!;
}

/** How long one decision and one PPO step of 256 rows take, in an engine. */
export function timeEngine(
  engine: Engine,
  millis: number,
): { forwardMicros: number; ppoMillis: number } {
  const random = new SeededRandom(1);
  const pair = engine.actorCritic(speedActor, speedCritic);
  pair.actor.import(orthogonal(speedActor, 0.01, random.fork('actor')));
  pair.critic.import(orthogonal(speedCritic, 1, random.fork('critic')));
  const batch = speedBatch(256);
  const input = batch.inputs.slice(0, 20);
  const output = new Float32Array(10);
  const forwardMicros = 1000 * timePerCall(() => pair.actor.forward(input, output), millis);
  const ppoMillis = timePerCall(() => void pair.ppoStep(batch, speedSettings), millis);
  pair.dispose();
  return { forwardMicros, ppoMillis };
}

export interface EngineSpeed {
  readonly name: EngineName;
  readonly runs: boolean;
  /** What runs, or why nothing does. */
  readonly detail: string;
  readonly forwardMicros: number | null;
  readonly ppoMillis: number | null;
}

/** Every engine: whether it runs here, and how fast. */
export async function engineSpeeds(
  warn: (text: string) => void,
  millis = 300,
): Promise<EngineSpeed[]> {
  const speeds: EngineSpeed[] = [];
  for (const name of ENGINES) {
    try {
      const engine = await loadEngine(name, warn);
      speeds.push({ name, runs: true, detail: engine.detail, ...timeEngine(engine, millis) });
    } catch (error) {
      const detail = messageOf(error);
      speeds.push({ name, runs: false, detail, forwardMicros: null, ppoMillis: null });
    }
  }
  return speeds;
}
