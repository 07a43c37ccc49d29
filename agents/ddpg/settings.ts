import { errorClass } from '../../config/index.js';

/** DDPG's settings do not go together. */
export class DdpgSettingsError extends errorClass('GLN_DDPG_SETTINGS') {}

export interface DdpgSettings {
  /** Hidden layers of the actor and of the critic. */
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
  /** Of the gradient of either network. */
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

export function checkDdpgSettings(settings: DdpgSettings): void {
  const check = (ok: boolean, detail: string): void => {
    if (!ok) throw new DdpgSettingsError(detail);
  };
  const {
    gamma,
    actorLearningRate,
    criticLearningRate,
    tau,
    batch,
    replay,
    warmUp,
    maxGradNorm,
    noise,
  } = settings;
  check(gamma > 0 && gamma < 1, `gamma ${gamma} is not between 0 and 1`);
  check(
    actorLearningRate > 0 && criticLearningRate > 0,
    `learning rates ${actorLearningRate} and ${criticLearningRate}`,
  );
  check(tau > 0 && tau <= 1, `tau ${tau} is not in 0..1`);
  check(maxGradNorm > 0, `largest norm ${maxGradNorm}`);
  for (const [name, value] of Object.entries({ batch, replay, warmUp }))
    check(Number.isInteger(value) && value >= 1, `${name} ${value} is not a positive integer`);
  check(
    replay >= batch && replay >= warmUp,
    `a memory of ${replay} steps holds no batch of ${batch} after ${warmUp}`,
  );
  check(
    noise.theta > 0 && noise.theta * noise.step < 1,
    `noise: theta ${noise.theta}, step ${noise.step}`,
  );
  check(
    noise.sigma >= 0 && noise.step > 0 && noise.first >= 0 && noise.decay >= 0,
    'noise: a negative setting',
  );
}
