import type { Engine } from '../../agents/nn/index.js';
import {
  PpoAgent,
  type PpoMetrics,
  type PpoSettings,
  simulatorSettings,
} from '../../agents/ppo/index.js';
import { type Random, SeededRandom } from '../../config/index.js';
import {
  LOCAL_FEATURES,
  localFeatures,
  TOY_ACTIONS,
  ToyCluster,
  type ToyOptions,
  VIRTUAL_FEATURES,
  virtualFeatures,
} from './cluster.js';

const EPISODE = 100;
/** Steps between updates: five episodes. */
const ROLLOUT = 500;

export interface ToyRun extends ToyOptions {
  readonly engine: Engine;
  readonly seed: number;
  readonly steps: number;
  /** Agents have the features of the virtual agent. */
  readonly meanField: boolean;
  readonly settings?: Partial<PpoSettings>;
}

export interface ToyResult {
  /** Mean reward per step of the last tenth of training, with exploration, penalties and price. */
  readonly training: number;
  /** Means per step of the last tenth, used to compare runs. */
  readonly raw: number;
  readonly utilization: number;
  readonly sloPreservation: number;
  /** Reward per step of each tenth of the steps. */
  readonly curve: readonly number[];
  /** Of the last update of the first agent. */
  readonly metrics: PpoMetrics;
}

/** One agent per function, each with an actor, a critic and a reward of its own. */
export function trainToy(run: ToyRun): ToyResult {
  const random = new SeededRandom(run.seed);
  const cluster = new ToyCluster(run, random.fork('cluster'));
  const features = LOCAL_FEATURES + (run.meanField ? VIRTUAL_FEATURES : 0);
  const settings = {
    ...simulatorSettings,
    updates: Math.ceil(run.steps / ROLLOUT),
    ...run.settings,
  };
  const agents = cluster.functions.map(
    (_, i) =>
      new PpoAgent({
        engine: run.engine,
        shape: { features, actions: TOY_ACTIONS.length },
        settings,
        rollout: ROLLOUT,
        random: random.fork(`agent ${i}`),
      }),
  );
  const views = agents.map(() => new Float32Array(features));
  const masks = agents.map(() => new Uint8Array(TOY_ACTIONS.length));
  const observe = (i: number): Float32Array => {
    localFeatures(cluster, i, views[i]!);
    if (run.meanField) virtualFeatures(cluster, i, views[i]!, LOCAL_FEATURES);
    return views[i]!;
  };
  const tenths = Array.from({ length: 10 }, () => new Tally());
  let metrics: PpoMetrics | undefined;
  for (let step = 0; step < run.steps; step++) {
    if (step % EPISODE === 0) cluster.reset(random.fork(`episode ${step / EPISODE}`));
    const actions = agents.map(
      (agent, i) => agent.decide(observe(i), cluster.mask(i, masks[i]!)) ?? 0,
    );
    const reversed = actions.map((action, i) => cluster.act(i, action));
    cluster.advance();
    const tally = tenths[Math.floor((10 * step) / run.steps)]!;
    agents.forEach((agent, i) => {
      const reward = cluster.reward(i, reversed[i]!);
      agent.executed(actions[i]!, reward);
      tally.add(cluster, i, reward);
    });
    if ((step + 1) % EPISODE !== 0) continue;
    agents.forEach((agent, i) => {
      agent.cut(observe(i));
      if (!agent.ready) return;
      const learned = agent.update();
      if (i === 0) metrics = learned;
    });
  }
  for (const agent of agents) agent.dispose();
  const last = tenths[9]!;
  return {
    training: last.mean('reward'),
    raw: last.mean('raw'),
    utilization: last.mean('utilization'),
    sloPreservation: last.mean('slo'),
    curve: tenths.map((tenth) => tenth.mean('reward')),
    metrics: metrics!,
  };
}

class Tally {
  readonly #sums = { reward: 0, raw: 0, utilization: 0, slo: 0 };
  #count = 0;

  add(cluster: ToyCluster, index: number, reward: number): void {
    const { utilization, sloPreservation } = cluster.functions[index]!;
    this.#sums.reward += reward;
    this.#sums.raw += cluster.rawReward(index);
    this.#sums.utilization += utilization;
    this.#sums.slo += sloPreservation;
    this.#count++;
  }

  mean(key: 'reward' | 'raw' | 'utilization' | 'slo'): number {
    return this.#sums[key] / this.#count;
  }
}

/** Rules without learning. */
export type ToyRule = (cluster: ToyCluster, index: number) => void;

export const doNothing: ToyRule = () => {};

/**
 * Kubernetes' rule at a target of 60 % and its tolerance of a tenth: containers x utilization /
 * target, rounded up.
 */
export const hpa: ToyRule = (cluster, index) => {
  const { utilization, containers } = cluster.functions[index]!;
  const ratio = utilization / 0.6;
  if (Math.abs(ratio - 1) <= 0.1) return;
  cluster.scaleTo(index, Math.ceil(containers * ratio));
};

/** Mean raw reward per step of a rule. */
export function runRule(rule: ToyRule, options: ToyOptions, seed: number, steps: number): number {
  const random: Random = new SeededRandom(seed);
  const cluster = new ToyCluster(options, random.fork('cluster'));
  let sum = 0;
  for (let step = 0; step < steps; step++) {
    if (step % EPISODE === 0) cluster.reset(random.fork(`episode ${step / EPISODE}`));
    cluster.functions.forEach((_, i) => {
      rule(cluster, i);
    });
    cluster.advance();
    cluster.functions.forEach((_, i) => {
      sum += cluster.rawReward(i);
    });
  }
  return sum / steps / cluster.functions.length;
}
