import type { Engine } from '../../../agents/nn/index.js';
import { type LearnerState, PpoAgent } from '../../../agents/ppo/index.js';
import {
  type ActionBounds,
  type Directions,
  type Held,
  SIMPPO_ACTIONS,
  type SimppoStep,
  scalingReward,
  takeStep,
} from '../../../agents/simppo/index.js';
import type { Random } from '../../../config/index.js';
import { scalingInput, scalingWidth } from './features.js';
import { type ScalingAgentSettings, SIMPPO_SIZES } from './settings.js';
import { type ClusterTotals, type ScalingState, type ScalingView, scalingCharge } from './state.js';

/** Without user limits, the platform's sizes are the bounds. */
const PLATFORM_BOUNDS: ActionBounds = {
  cpu: { lower: SIMPPO_SIZES.least.cpu, upper: SIMPPO_SIZES.most.cpu },
  memory: { lower: SIMPPO_SIZES.least.memory, upper: SIMPPO_SIZES.most.memory },
};
const FIRST = { action: 0, directions: [0, 0, 0], isReversal: false } as const;

/** A step within the platform's bounds; `mask` is written. */
export const scalingStep = (
  held: Held,
  last: Directions,
  { actions }: ScalingAgentSettings,
  mask: Uint8Array,
  choose: (mask: Uint8Array) => number | null,
): SimppoStep =>
  takeStep({ held, last, bounds: PLATFORM_BOUNDS, cpuMode: 'quota' }, actions, mask, choose);

export interface ScalingAgentOptions {
  readonly engine: Engine;
  readonly settings: ScalingAgentSettings;
  /** Decisions of one episode. */
  readonly decisions: number;
  readonly random: Random;
  /** Initial weights; null: untrained. */
  readonly state: LearnerState | null;
}

/** SIMPPO's agent of one function in the published protocol: its observation and its reward. */
export class ScalingAgent {
  readonly ppo: PpoAgent;
  readonly settings: ScalingAgentSettings;
  #input: Float32Array;
  readonly #mask = new Uint8Array(SIMPPO_ACTIONS.length);
  #rateBefore = 0;
  #step: Omit<SimppoStep, 'held'> = FIRST;

  constructor({ engine, settings, decisions, random, state }: ScalingAgentOptions) {
    this.settings = settings;
    const features = scalingWidth(settings.virtual);
    this.ppo = new PpoAgent({
      engine,
      shape: { features, actions: SIMPPO_ACTIONS.length },
      settings: settings.ppo,
      rollout: settings.batchEpisodes * decisions,
      random,
    });
    if (state !== null) this.ppo.import(state);
    this.#input = new Float32Array(features);
  }

  /** Directions of the last step: containers, CPU, memory. */
  get last(): Directions {
    return this.#step.directions;
  }

  /** A new episode has no previous step. */
  begin(): void {
    this.#step = FIRST;
    this.#rateBefore = 0;
  }

  /** What to hold next. `explore` samples; otherwise the most probable action is taken. */
  decide(view: ScalingView, explore: boolean): Held {
    const { held, rate } = view.observed;
    const input = this.#observe(view);
    const step = scalingStep(held, this.last, this.settings, this.#mask, (mask) =>
      this.ppo.decide(input, mask, !explore),
    );
    this.#step = step;
    this.#rateBefore = rate;
    return step.held;
  }

  /** Returns the reward of the last step; `record` puts it into the rollout. */
  learn(observed: ScalingState, totals: ClusterTotals, members: number, record: boolean): number {
    const { action, isReversal } = this.#step;
    const { reward: weights, priceBy } = this.settings;
    const charge = scalingCharge(observed, totals, members, priceBy);
    const reward = scalingReward(observed, charge, isReversal, weights);
    if (record) this.ppo.executed(action ?? 0, reward);
    return reward;
  }

  /** The episode is cut: the critic's value of this view stands for the steps after it. */
  cut(view: ScalingView): void {
    this.ppo.cut(this.#observe(view));
  }

  #observe(view: ScalingView): Float32Array {
    return scalingInput(view, this.#rateBefore, this.last, this.settings.virtual, this.#input);
  }

  dispose(): void {
    this.ppo.dispose();
  }
}
