/** Linear from `first` to `last` over `PpoSettings.updates`, then constant. */
export interface Schedule {
  readonly first: number;
  readonly last: number;
}

export interface PpoSettings {
  /** Hidden layers of the actor and of the critic. */
  readonly hidden: readonly number[];
  /** Discount of an ordinary step; a transition may bring its own. */
  readonly gamma: number;
  /** Lambda of the generalized advantage estimate: 0 trusts the critic, 1 the returns. */
  readonly lambda: number;
  readonly learningRate: Schedule;
  /** Always above 0: mean-field learning converges with a regularizer [MFG]. */
  readonly entropy: Schedule;
  readonly valueCoefficient: number;
  /** Clips the probability ratio to [1 - clip, 1 + clip]. */
  readonly clip: number;
  readonly epochs: number;
  /** Rows of one mini-batch; drawn by shuffling, without replacement. */
  readonly miniBatch: number;
  /** Largest norm of the gradient of actor and critic together. */
  readonly maxGradNorm: number;
  /** Epochs end when the mean divergence from the policy that acted passes this. */
  readonly targetKl: number;
  /** Updates over which the schedules run. */
  readonly updates: number;
}

/** In a simulator: learn fast, then settle. */
export const simulatorSettings: PpoSettings = {
  hidden: [64, 64],
  gamma: 0.9,
  lambda: 0.95,
  learningRate: { first: 1e-3, last: 0 },
  entropy: { first: 0.01, last: 0.001 },
  valueCoefficient: 0.5,
  clip: 0.2,
  epochs: 5,
  miniBatch: 64,
  maxGradNorm: 0.5,
  targetKl: 0.02,
  updates: 80,
};

/** On a live system: a third of the learning rate, constant. */
export const onlineSettings: PpoSettings = {
  ...simulatorSettings,
  learningRate: { first: 3e-4, last: 3e-4 },
  entropy: { first: 0.001, last: 0.001 },
};

export const scheduled = ({ first, last }: Schedule, update: number, updates: number): number =>
  first + (last - first) * Math.min(1, update / updates);
