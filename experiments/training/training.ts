import {
  InlineTrainer,
  type LearnerState,
  type PpoMetrics,
  type PpoSettings,
} from '../../agents/ppo/index.js';
import {
  SimppoManager,
  type SimppoName,
  type SimppoSettings,
  settingsOf,
  threadEngine,
} from '../../agents/simppo/index.js';
import { type Bytes, MIB, type Millicores } from '../../config/index.js';
import {
  type ClusterMode,
  DEFAULT_CONTROL,
  type SimulatedSettings,
  simulateCluster,
  simulatedOptions,
} from '../../simulator/engine/index.js';
import {
  activationStream,
  type HostShape,
  openWorkload,
  type Part,
  resolveHosts,
} from '../../simulator/workload/index.js';

/** One workload to learn on, and its hosts. */
export interface Place {
  readonly workload: string;
  readonly hosts: number;
}

/**
 * What the command line says of hosts, and what counts where neither it nor the workload says
 * anything.
 */
export interface TrainingHosts {
  readonly said: Partial<HostShape>;
  readonly otherwise: HostShape;
}

/** Hosts of a place: as many as it names. */
export const shapeOf = (
  { workload, hosts }: Place,
  { said, otherwise }: TrainingHosts,
): HostShape => resolveHosts(workload, { ...said, hosts }, otherwise);

export interface TrainingPlan {
  readonly manager: SimppoName;
  readonly places: readonly Place[];
  readonly part: Part;
  readonly mode: ClusterMode;
  readonly loads: readonly number[];
  readonly episodes: number;
  readonly seed: number;
  readonly hosts: TrainingHosts;
  /** What a configuration changes in the decision. */
  readonly settings?: SimulatedSettings;
  /** It begins with another policy, which comes as `resume` at the first episode. */
  readonly refines: boolean;
  /** What to go on from, and how many episodes it has seen. */
  readonly resume: { readonly state: LearnerState; readonly episode: number } | null;
}

/** A point of the learning curve. */
export interface EpisodeResult {
  readonly episode: number;
  readonly setting: string;
  readonly seed: number;
  readonly steps: number;
  /** Mean per step, of the policy that explores. */
  readonly reward: number;
  readonly updates: number;
  /** Means over the episode's updates; NaN without one. */
  readonly entropy: number;
  readonly approxKl: number;
  readonly explainedVariance: number;
}

/** Updates that a batch of 512 rows and some 2900 steps an episode make. */
const UPDATES_AN_EPISODE = 5;

/** Of a policy that begins with another one, so that it refines and does not forget. */
const REFINING: Partial<PpoSettings> = { learningRate: { first: 1e-4, last: 0 } };

/**
 * All functions share and improve the base policy, exploring from the first step. `refines`: it
 * begins with another policy.
 */
export function trainingSettings(
  name: SimppoName,
  episodes: number,
  refines = false,
): SimppoSettings {
  const settings = settingsOf(name);
  return {
    ...settings,
    begin: 'online',
    ownRate: Number.POSITIVE_INFINITY,
    ppo: {
      ...settings.ppo,
      ...(refines ? REFINING : {}),
      updates: episodes * UPDATES_AN_EPISODE,
    },
  };
}

/**
 * Trains a base policy on whole runs of the cluster engine, one an episode: settings take turns,
 * seeds rise from the plan's. Yields after each episode, so that a caller can show, save and stop.
 * The same plan gives the same weights, resumed between episodes or not.
 */
export function* train(
  plan: TrainingPlan,
): Generator<{ readonly result: EpisodeResult; readonly state: LearnerState }> {
  const engine = threadEngine();
  const settings = trainingSettings(plan.manager, plan.episodes, plan.refines);
  const tally = new EpisodeTally();
  const cap = {
    cpu: DEFAULT_CONTROL.capMillicores as Millicores,
    memory: (DEFAULT_CONTROL.capMiB * MIB) as Bytes,
  };
  const turns = plan.places.flatMap((place) => plan.loads.map((load) => ({ ...place, load })));
  let base = plan.resume?.state ?? null;
  for (let episode = plan.resume?.episode ?? 0; episode < plan.episodes; episode++) {
    const turn = turns[episode % turns.length]!;
    const seed = plan.seed + episode;
    // A manager an episode: what it draws depends on the episode alone.
    const manager = new SimppoManager({
      name: plan.manager,
      settings,
      engine,
      trainer: new InlineTrainer(engine),
      base,
      seed,
      cap,
      onUpdate: (metrics) => tally.updated(metrics),
      onReward: (reward) => tally.rewarded(reward),
    });
    const { workload, hosts, load } = turn;
    const shape = shapeOf(turn, plan.hosts);
    const cores = hosts * shape.cores;
    const loaded = openWorkload(workload, {
      seed,
      part: plan.part,
      partBy: 'time',
      load: { load, cores },
    });
    simulateCluster({
      activations: activationStream(loaded, { seed }),
      cluster: shape,
      mode: plan.mode,
      ...simulatedOptions(plan.settings),
      manager,
      seed,
    });
    base = manager.base.state;
    manager.base.dispose();
    const setting = `${workload}@${hosts} ${plan.mode} ${load}`;
    yield {
      result: tally.take({ episode, setting, seed, updates: base.counters.updates }),
      state: base,
    };
  }
}

class EpisodeTally {
  #steps = 0;
  #reward = 0;
  #updates = 0;
  #entropy = 0;
  #approxKl = 0;
  #explained = 0;

  rewarded(reward: number): void {
    this.#steps++;
    this.#reward += reward;
  }

  updated({ entropy, approxKl, explainedVariance }: PpoMetrics): void {
    this.#updates++;
    this.#entropy += entropy;
    this.#approxKl += approxKl;
    this.#explained += explainedVariance;
  }

  take(about: Pick<EpisodeResult, 'episode' | 'setting' | 'seed' | 'updates'>): EpisodeResult {
    const result = {
      ...about,
      steps: this.#steps,
      reward: this.#reward / this.#steps,
      entropy: this.#entropy / this.#updates,
      approxKl: this.#approxKl / this.#updates,
      explainedVariance: this.#explained / this.#updates,
    };
    this.#steps = this.#updates = 0;
    this.#reward = this.#entropy = this.#approxKl = this.#explained = 0;
    return result;
  }
}
