import { errorClass, type Random } from '../../config/index.js';
import {
  type ActorCritic,
  adamDefaults,
  inputsOf,
  type Moments,
  outputsOf,
  type PpoBatch,
  type PpoStepResult,
} from '../nn/index.js';
import { generalizedAdvantages } from './gae.js';
import type { Rollout } from './rollout.js';
import { type PpoSettings, scheduled } from './settings.js';

/** A rollout that cannot be learned from. */
export class RolloutError extends errorClass('GLN_PPO_ROLLOUT') {}

/** Losses, divergence, clip fraction and entropy are means over the mini-batches. */
export interface PpoMetrics {
  readonly policyLoss: number;
  readonly valueLoss: number;
  readonly entropy: number;
  readonly approxKl: number;
  readonly clipFraction: number;
  /** 1 - var(return - value) / var(return) before the update; NaN for equal returns. */
  readonly explainedVariance: number;
  readonly meanReward: number;
  readonly learningRate: number;
  readonly entropyCoefficient: number;
  /** Epochs that were begun, and whether divergence ended them early. */
  readonly epochs: number;
  readonly stopped: boolean;
  readonly miniBatches: number;
  /** Mini-batches whose gradient was not finite: nothing was learned from them. */
  readonly skipped: number;
}

export interface LearnerCounters {
  /** Updates and rows ever learned from. */
  readonly updates: number;
  readonly steps: number;
}

/** Plain arrays, so that it can be stored and posted to another thread. */
export interface LearnerState {
  readonly actor: Float32Array;
  readonly critic: Float32Array;
  readonly actorMoments: Moments;
  readonly criticMoments: Moments;
  readonly counters: LearnerCounters;
}

/** [PPO] in the details of [CleanRL]; the same inputs give the same weights, bit for bit. */
export class PpoLearner {
  readonly #pair: ActorCritic;
  readonly #settings: PpoSettings;
  readonly #random: Random;
  #updates = 0;
  #steps = 0;

  constructor(pair: ActorCritic, settings: PpoSettings, random: Random) {
    this.#pair = pair;
    this.#settings = settings;
    this.#random = random;
  }

  get counters(): LearnerCounters {
    return { updates: this.#updates, steps: this.#steps };
  }

  update(rollout: Rollout): PpoMetrics {
    const { rows } = rollout;
    if (rows === 0) throw new RolloutError('an empty rollout');
    if (rollout.open > 0)
      throw new RolloutError(`${rollout.open} rows whose segment is not closed`);
    const settings = this.#settings;
    const { values, advantages, returns } = this.#estimate(rollout);
    const learningRate = scheduled(settings.learningRate, this.#updates, settings.updates);
    const entropyCoefficient = scheduled(settings.entropy, this.#updates, settings.updates);
    const step = { ...adamDefaults, ...settings, learningRate, entropyCoefficient };
    // A stream per update, so that a run that is resumed between updates goes on as if it had not
    // stopped.
    const random = this.#random.fork(`update ${this.#updates}`);
    const order = Int32Array.from({ length: rows }, (_, row) => row);
    const sums = new StepSums();
    let epochs = 0;
    let stopped = false;
    while (epochs < settings.epochs && !stopped) {
      epochs++;
      shuffle(order, random);
      let approxKl = 0;
      for (let from = 0; from < rows; from += settings.miniBatch) {
        const some = order.subarray(from, Math.min(rows, from + settings.miniBatch));
        const result = this.#pair.ppoStep(
          gather(rollout, some, advantages, returns, this.#pair),
          step,
        );
        sums.add(result);
        approxKl += result.applied ? result.approxKl * some.length : 0;
      }
      stopped = approxKl / rows > settings.targetKl;
    }
    this.#updates++;
    this.#steps += rows;
    return {
      ...sums.means(),
      explainedVariance: explainedVariance(values, returns),
      meanReward: mean(rollout.rewards.subarray(0, rows)),
      learningRate,
      entropyCoefficient,
      epochs,
      stopped,
    };
  }

  /** The critic's values, advantages, and returns = advantages + values, of every row. */
  #estimate(rollout: Rollout): {
    values: Float32Array;
    advantages: Float32Array;
    returns: Float32Array;
  } {
    const { critic } = this.#pair;
    const { rows } = rollout;
    const values = new Float32Array(rows);
    const advantages = new Float32Array(rows);
    critic.forwardBatch(rollout.inputs, rows, values);
    const value = new Float32Array(1);
    const { rewards, discounts } = rollout;
    const { lambda } = this.#settings;
    for (const { from, to, after } of rollout.segments) {
      if (after) critic.forward(after, value);
      const bootstrap = after ? value[0]! : 0;
      const segment = { from, to, bootstrap };
      generalizedAdvantages({ rewards, values, discounts }, segment, lambda, advantages);
    }
    return {
      values,
      advantages,
      returns: advantages.map((advantage, row) => advantage + values[row]!),
    };
  }

  export(): LearnerState {
    const { actor, critic } = this.#pair;
    return {
      actor: actor.export(),
      critic: critic.export(),
      actorMoments: actor.exportMoments(),
      criticMoments: critic.exportMoments(),
      counters: this.counters,
    };
  }

  import(state: LearnerState): void {
    const { actor, critic } = this.#pair;
    actor.import(state.actor);
    critic.import(state.critic);
    actor.importMoments(state.actorMoments);
    critic.importMoments(state.criticMoments);
    this.#updates = state.counters.updates;
    this.#steps = state.counters.steps;
  }
}

/** Fisher and Yates. */
function shuffle(order: Int32Array, random: Random): void {
  for (let i = order.length - 1; i > 0; i--) {
    const j = random.below(i + 1);
    const kept = order[i]!;
    order[i] = order[j]!;
    order[j] = kept;
  }
}

/** One mini-batch: the rows of `order`, advantages normalized over them. */
function gather(
  rollout: Rollout,
  order: Int32Array,
  advantages: Float32Array,
  returns: Float32Array,
  { actor }: ActorCritic,
): PpoBatch {
  const rows = order.length;
  const pick = <T extends Float32Array | Uint8Array>(from: T, to: T, width: number): T => {
    for (let i = 0; i < rows; i++)
      to.set(from.subarray(order[i]! * width, (order[i]! + 1) * width), i * width);
    return to;
  };
  const some = (from: Float32Array): Float32Array => Float32Array.from(order, (row) => from[row]!);
  const width = inputsOf(actor.shape);
  const choices = outputsOf(actor.shape);
  return {
    rows,
    inputs: pick(rollout.inputs, new Float32Array(rows * width), width),
    masks: pick(rollout.masks, new Uint8Array(rows * choices), choices),
    actions: Int32Array.from(order, (row) => rollout.actions[row]!),
    logProbabilities: some(rollout.logProbabilities),
    advantages: normalize(some(advantages)),
    returns: some(returns),
  };
}

/** (a - mean) / (deviation + 1e-8): a batch of one row gives 0, not NaN. */
export function normalize(values: Float32Array): Float32Array {
  const center = mean(values);
  let squares = 0;
  for (const value of values) squares += (value - center) ** 2;
  const deviation = Math.sqrt(squares / values.length);
  return values.map((value) => (value - center) / (deviation + 1e-8));
}

function mean(values: Float32Array): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}

function explainedVariance(values: Float32Array, returns: Float32Array): number {
  const variance = (of: Float32Array): number => {
    const center = mean(of);
    let squares = 0;
    for (const value of of) squares += (value - center) ** 2;
    return squares / of.length;
  };
  const total = variance(returns);
  return total > 0
    ? 1 - variance(returns.map((value, row) => value - values[row]!)) / total
    : Number.NaN;
}

/** Means over mini-batches that were learned from. */
class StepSums {
  readonly #sum = {
    policyLoss: 0,
    valueLoss: 0,
    entropy: 0,
    approxKl: 0,
    clipFraction: 0,
  };
  #applied = 0;
  #skipped = 0;

  add(result: PpoStepResult): void {
    if (!result.applied) {
      this.#skipped++;
      return;
    }
    this.#applied++;
    const sum = this.#sum;
    for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += result[key];
  }

  means() {
    const over = (sum: number): number => (this.#applied > 0 ? sum / this.#applied : Number.NaN);
    return {
      policyLoss: over(this.#sum.policyLoss),
      valueLoss: over(this.#sum.valueLoss),
      entropy: over(this.#sum.entropy),
      approxKl: over(this.#sum.approxKl),
      clipFraction: over(this.#sum.clipFraction),
      miniBatches: this.#applied + this.#skipped,
      skipped: this.#skipped,
    };
  }
}
