import type { Engine } from '../../../agents/nn/index.js';
import { type LearnerState, PpoAgent } from '../../../agents/ppo/index.js';
import {
  type ActionBounds,
  apply,
  directionsOf,
  type Held,
  maskOf,
  SIMPPO_ACTIONS,
} from '../../../agents/simppo/index.js';
import type { Others } from '../../../broker/mean-field/index.js';
import type { Random } from '../../../config/index.js';
import { scalingInput, scalingWidth } from './features.js';
import { learningReward } from './reward.js';
import { type ScalingAgentSettings, SIMPPO_SIZES } from './settings.js';
import type { ClusterTotals, ScalingState } from './state.js';

/** The platform's bounds stand where a safeguard's range would: no user's limit. */
const PLATFORM_BOUNDS: ActionBounds = {
  cpu: { lower: SIMPPO_SIZES.least.cpu, upper: SIMPPO_SIZES.most.cpu },
  memory: { lower: SIMPPO_SIZES.least.memory, upper: SIMPPO_SIZES.most.memory },
};
/** Limits are amounts here, never weights. */
const BY_QUOTA = { cpuMode: 'quota' } as const;

/** What can be done from here, 1 or 0 by action. */
export const possibleActions = (
  held: Held,
  settings: ScalingAgentSettings,
  to: Uint8Array,
): Uint8Array => maskOf(held, PLATFORM_BOUNDS, BY_QUOTA, settings.actions, to);

/** What is held after an action. */
export const heldAfter = (action: number, held: Held, settings: ScalingAgentSettings): Held =>
  apply(action, held, PLATFORM_BOUNDS, BY_QUOTA, settings.actions);

export interface ScalingAgentOptions {
  readonly engine: Engine;
  readonly settings: ScalingAgentSettings;
  readonly random: Random;
  /** What it starts from; null: untrained. */
  readonly state: LearnerState | null;
}

/**
 * One function's agent: an actor and a critic of its own; sets limits and number of its containers
 * a step at a time.
 */
export class ScalingAgent {
  readonly ppo: PpoAgent;
  readonly settings: ScalingAgentSettings;
  #input: Float32Array;
  readonly #mask = new Uint8Array(SIMPPO_ACTIONS.length);
  #rateBefore = 0;
  #action = 0;
  #reversed = false;
  #last: readonly [number, number, number] = [0, 0, 0];

  constructor({ engine, settings, random, state }: ScalingAgentOptions) {
    this.settings = settings;
    const features = scalingWidth(settings.virtual);
    this.ppo = new PpoAgent({
      engine,
      shape: { features, actions: SIMPPO_ACTIONS.length },
      settings: settings.ppo,
      rollout: settings.batch,
      random,
    });
    if (state !== null) this.ppo.import(state);
    this.#input = new Float32Array(features);
  }

  /** Steps last taken: containers, cpu, memory. */
  get last(): readonly [number, number, number] {
    return this.#last;
  }

  /** A new episode: nothing was done before. */
  begin(): void {
    this.#last = [0, 0, 0];
    this.#rateBefore = 0;
    this.#reversed = false;
  }

  /** What to hold next. `explore`: samples; else the most probable action. */
  decide(
    observed: ScalingState,
    published: readonly number[],
    others: Others | null,
    totals: ClusterTotals,
    explore: boolean,
  ): Held {
    this.#see(observed, published, others, totals);
    possibleActions(observed.held, this.settings, this.#mask);
    // No sound action: what is held stays.
    this.#action = this.ppo.decide(this.#input, this.#mask, { greedy: !explore }).action ?? 0;
    const directions = directionsOf(this.#action);
    this.#reversed = directions.some((direction, i) => direction * this.#last[i]! < 0);
    this.#last = directions;
    this.#rateBefore = observed.rate;
    return heldAfter(this.#action, observed.held, this.settings);
  }

  /** What came of it, into the rollout where `record`. Returns the reward. */
  learn(observed: ScalingState, totals: ClusterTotals, members: number, record: boolean): number {
    const reward = learningReward(observed, totals, members, this.#reversed, this.settings.reward);
    if (record) this.ppo.executed(this.#action, reward);
    return reward;
  }

  /** The episode is cut: the critic's value of what is seen now stands for what follows. */
  cut(
    observed: ScalingState,
    published: readonly number[],
    others: Others | null,
    totals: ClusterTotals,
  ): void {
    this.ppo.cut(this.#see(observed, published, others, totals));
  }

  #see(
    observed: ScalingState,
    published: readonly number[],
    others: Others | null,
    totals: ClusterTotals,
  ): Float32Array {
    const { virtual } = this.settings;
    return scalingInput(
      observed,
      this.#rateBefore,
      published,
      others,
      totals,
      virtual,
      this.#input,
    );
  }

  dispose(): void {
    this.ppo.dispose();
  }
}
