/**
 * How a host's cores are shared (design §6b): weighted max-min among what runs, each within what it
 * can use, and the kernel's quota as the bucket it is. Pure; nothing is allocated per call.
 */

/**
 * Below this many core-microseconds an amount of work counts as nothing: rounding of doubles, not
 * of the model.
 */
export const WORK_EPSILON = 1e-6;

/**
 * Weighted max-min share of `cores` among the first `count` entries: `granted[i] = min(caps[i],
 * weights[i] x level)` with the highest level that fits. Weights must be positive; caps are in
 * cores, 0 for who cannot run now.
 *
 * Water filling: whoever is satisfied below the present level is fixed at its cap and the level
 * rises for the others, so at most `count` passes are made (two or three in practice).
 *
 * @returns the cores granted in all.
 */
export function shareCores(
  weights: Float64Array,
  caps: Float64Array,
  granted: Float64Array,
  count: number,
  cores: number,
): number {
  let left = cores;
  let open = 0;
  let openWeight = 0;
  for (let i = 0; i < count; i++) {
    if (caps[i]! > 0) {
      granted[i] = -1;
      open++;
      openWeight += weights[i]!;
    } else {
      granted[i] = 0;
    }
  }
  while (open > 0) {
    const level = left / openWeight;
    let fixed = 0;
    let nextWeight = 0;
    for (let i = 0; i < count; i++) {
      if (granted[i]! >= 0) continue;
      if (caps[i]! <= weights[i]! * level) {
        granted[i] = caps[i]!;
        left -= caps[i]!;
        fixed++;
      } else {
        nextWeight += weights[i]!;
      }
    }
    open -= fixed;
    if (fixed === 0) {
      for (let i = 0; i < count; i++) if (granted[i]! < 0) granted[i] = weights[i]! * level;
      return cores;
    }
    // Summed anew: subtracting would leave rounding behind, and a level from a weight near zero.
    openWeight = nextWeight;
    left = Math.max(0, left);
  }
  return cores - left;
}

/**
 * Time until a group that runs at a constant rate is throttled, microseconds; Infinity where it
 * never is.
 *
 * The kernel gives a group `quota` core-microseconds at each boundary of its period, and takes what
 * is left away; a group that has none left waits for the next boundary. Only the running period and
 * one full one need a look: at a constant rate all later ones are alike.
 *
 * @param rate cores it runs on
 * @param quota core-microseconds a period
 * @param period microseconds
 * @param phase microseconds since the period began, in [0, period)
 * @param used core-microseconds used in this period
 */
export function timeToThrottle(
  rate: number,
  quota: number,
  period: number,
  phase: number,
  used: number,
): number {
  if (rate <= 0) return Number.POSITIVE_INFINITY;
  const left = Math.max(0, quota - used);
  const rest = period - phase;
  if (rate * rest > left + WORK_EPSILON) return left / rate;
  if (rate * period > quota + WORK_EPSILON) return rest + quota / rate;
  return Number.POSITIVE_INFINITY;
}

/**
 * Closed form: how long `work` takes for a group alone on the host that starts with a full bucket
 * at a boundary of its period, microseconds. A fluid quota would say `work / (quota / period)`; for
 * short work that is up to `rate x period / quota` times too long.
 *
 * @param work core-microseconds
 * @param rate cores it can run on
 * @param quota core-microseconds a period; 0 = none
 * @param period microseconds
 */
export function timeUnderQuota(work: number, rate: number, quota: number, period: number): number {
  if (quota <= 0 || quota >= rate * period) return work / rate;
  // The last period is one where at most a full bucket is left to do.
  const fullPeriods = Math.max(0, Math.ceil(work / quota - 1e-12) - 1);
  return fullPeriods * period + (work - fullPeriods * quota) / rate;
}

/**
 * Speed of what runs on a core beside neighbors that use the memory bus too, as a share of its
 * speed alone: 1 / (1 + sensitivity x pressure of the others), where `pressure` is the others'
 * cores, each times its own pressure, over the host's cores. 1 with the model off.
 */
export function interferenceFactor(sensitivity: number, pressure: number): number {
  return 1 / (1 + sensitivity * Math.max(0, pressure));
}
