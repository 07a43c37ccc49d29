import type { Engine } from '../../../agents/nn/index.js';
import { type LearnerState, PpoAgent } from '../../../agents/ppo/index.js';
import {
  type ActionBounds,
  type Directions,
  type Held,
  maskOf,
  SIMPPO_ACTIONS,
  type SimppoStep,
  stepOf,
} from '../../../agents/simppo/index.js';
import type { Random } from '../../../config/index.js';
import { scalingInput, scalingWidth } from './features.js';
import { learningReward } from './reward.js';
import { type ScalingAgentSettings, SIMPPO_SIZES } from './settings.js';
import type { ClusterTotals, ScalingState, ScalingView } from './state.js';

/** Without user limits, the platform's sizes are the bounds. */
const PLATFORM_BOUNDS: ActionBounds = {
  cpu: { lower: SIMPPO_SIZES.least.cpu, upper: SIMPPO_SIZES.most.cpu },
  memory: { lower: SIMPPO_SIZES.least.memory, upper: SIMPPO_SIZES.most.memory },
};
/** Limits are amounts here, never weights. */
const BY_QUOTA = { cpuMode: 'quota' } as const;
const NO_STEP: Directions = [0, 0, 0];

/** 1 for each action that changes something, otherwise 0. */
export const possibleActions = (
  held: Held,
  { actions }: ScalingAgentSettings,
  to: Uint8Array,
): Uint8Array => maskOf(held, PLATFORM_BOUNDS, BY_QUOTA, actions, to);

/** The step of an action within the platform's bounds. */
export const scalingStep = (
  action: number | null,
  held: Held,
  { actions }: ScalingAgentSettings,
  last: Directions = NO_STEP,
): SimppoStep => stepOf(action, held, last, PLATFORM_BOUNDS, BY_QUOTA, actions);

export interface ScalingAgentOptions {
  readonly engine: Engine;
  readonly settings: ScalingAgentSettings;
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
  #step: Pick<SimppoStep, 'action' | 'directions' | 'isReversal'>;

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
    this.#step = { action: 0, directions: NO_STEP, isReversal: false };
  }

  /** Directions of the last step: containers, CPU, memory. */
  get last(): Directions {
    return this.#step.directions;
  }

  /** A new episode has no previous step. */
  begin(): void {
    this.#step = { action: 0, directions: NO_STEP, isReversal: false };
    this.#rateBefore = 0;
  }

  /** What to hold next. `explore` samples; otherwise the most probable action is taken. */
  decide(view: ScalingView, explore: boolean): Held {
    const { held, rate } = view.observed;
    const input = this.#observe(view);
    possibleActions(held, this.settings, this.#mask);
    const { action } = this.ppo.decide(input, this.#mask, { greedy: !explore });
    const step = scalingStep(action, held, this.settings, this.last);
    this.#step = step;
    this.#rateBefore = rate;
    return step.held;
  }

  /** Returns the reward of the last step; `record` puts it into the rollout. */
  learn(observed: ScalingState, totals: ClusterTotals, members: number, record: boolean): number {
    const { action, isReversal } = this.#step;
    const reward = learningReward(observed, totals, members, isReversal, this.settings.reward);
    if (record) this.ppo.executed(action, reward);
    return reward;
  }

  /** The episode is cut: the critic's value of this view stands for the steps after it. */
  cut(view: ScalingView): void {
    this.ppo.cut(this.#observe(view));
  }

  #observe(view: ScalingView): Float32Array {
    return scalingInput(view, this.#rateBefore, this.settings.virtual, this.#input);
  }

  dispose(): void {
    this.ppo.dispose();
  }
}
