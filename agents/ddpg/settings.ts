export interface DdpgSettings {
  readonly hidden: readonly number[];
  /** Discount of one step of ordinary length; a step may bring another, by the time it took. */
  readonly gamma: number;
  readonly actorLearningRate: number;
  readonly criticLearningRate: number;
  /** Share of the way that the target networks go towards the learned ones with each update. */
  readonly tau: number;
  readonly batch: number;
  /** Steps that are remembered. */
  readonly replay: number;
  /** Steps before anything is learned. */
  readonly warmUp: number;
  /** Largest norm of the gradient of either network. */
  readonly maxGradNorm: number;
  readonly noise: {
    /** Ornstein and Uhlenbeck's: how fast it returns to 0, how wide it is, the step in time. */
    readonly theta: number;
    readonly sigma: number;
    readonly step: number;
    /** Its share at first, and by how much that falls with each update. */
    readonly first: number;
    readonly decay: number;
  };
}
