import {
  type Bytes,
  type Config,
  type Millicores,
  type Millis,
  mebibytes,
  millicores,
  millis,
} from '../config/index.js';

/** Where the hook's safeguard lets limits lie; agents ask for nothing else. */
export interface RangeRules {
  /** Peak at or below this share of the user's limit: over-provisioned. */
  readonly thetaUser: number;
  /** Peak at or above this share of a *reduced* limit: spike. */
  readonly thetaSpike: number;
  /** The lower bound keeps the expected peak this much below `thetaSpike`. */
  readonly spikeMargin: number;
  /** Smallest step above a peak; the larger of this and `cpuUnitShare` x user counts. */
  readonly cpuUnit: Millicores;
  readonly cpuUnitShare: number;
  readonly memoryUnit: Bytes;
  /** Least quota of any container: OpenWhisk's health check must still be answered. */
  readonly cpuFloor: Millicores;
  readonly memoryFloor: Bytes;
  /** Half-life of the peaks. */
  readonly halfLife: Millis;
}

/** What no operator needs to change, each with its reason, and what is configured. */
export const rangeRules = (decision: Config['decision']): RangeRules => ({
  thetaUser: decision.thetaUser,
  thetaSpike: decision.thetaSpike,
  /** A function that is as busy as before does not trip its own lowered limit. */
  spikeMargin: 0.05,
  /** Smaller steps would follow the noise of usage samples. */
  cpuUnit: 50 as Millicores,
  cpuUnitShare: 0.05,
  memoryUnit: mebibytes(16),
  cpuFloor: millicores(decision.cpuFloorMillicores),
  memoryFloor: mebibytes(decision.memoryFloorMiB),
  halfLife: millis(decision.peakHalfLifeS * 1000),
});

/** Smallest step above a CPU peak, millicores. */
export const cpuUnitOf = (
  user: number,
  { cpuUnit, cpuUnitShare }: Pick<RangeRules, 'cpuUnit' | 'cpuUnitShare'>,
): number => Math.max(cpuUnit, cpuUnitShare * user);

/**
 * The least limit that a peak may be given: a unit more, and so much that the peak stays below
 * thetaSpike of the limit, so that a steady function never trips itself.
 */
export const leastAbove = (
  peak: number,
  unit: number,
  { thetaSpike, spikeMargin }: Pick<RangeRules, 'thetaSpike' | 'spikeMargin'>,
): number => Math.max(peak + unit, peak / (thetaSpike - spikeMargin));

/**
 * Writes the range of a limit whose least is `above` the peak: up to the user's if that is
 * over-provisioned, otherwise up to the cap. In place, as it runs at every start.
 */
export function writeRange(
  to: { lower: number; upper: number },
  isOver: boolean,
  above: number,
  user: number,
  floor: number,
  cap: number,
): void {
  const most = Math.max(cap, user);
  to.lower = isOver ? Math.min(user, Math.max(above, floor)) : Math.min(above, most);
  to.upper = isOver ? user : most;
}
