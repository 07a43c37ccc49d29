import { z } from 'zod';

/**
 * A positive quantity that differs between activations: milliseconds or MiB, as the field it stands
 * in says.
 */
export const distributionSchema = z.union([
  z.number().nonnegative(),
  z
    .strictObject({
      /**
       * `[probability, value]`, both rising, first probability 0 and last 1; geometric between two
       * points.
       */
      quantiles: z.array(z.tuple([z.number().min(0).max(1), z.number().nonnegative()])).min(2),
    })
    .refine(
      ({ quantiles }) => quantiles[0]?.[0] === 0 && quantiles.at(-1)?.[0] === 1,
      'must run from probability 0 to 1',
    )
    .refine(
      ({ quantiles }) =>
        quantiles.every(
          ([p, v], i) => i === 0 || (p > quantiles[i - 1]![0] && v >= quantiles[i - 1]![1]),
        ),
      'probabilities must rise and values must not fall',
    ),
  z
    .strictObject({
      lognormal: z.strictObject({ median: z.number().positive(), sigma: z.number().min(0).max(4) }),
    })
    .describe('median in the unit of its field; sigma of the logarithm'),
  z.strictObject({ exponential: z.strictObject({ mean: z.number().positive() }) }),
]);

export type Distribution = z.infer<typeof distributionSchema>;

/**
 * The value at probability `u` in [0, 1).
 *
 * Between two quantiles the value runs geometrically: percentiles of durations are spread over
 * decades, and a straight line between p75 and p99 would put far too much work into the tail (for
 * the trace's `dh` a mean of 71 s, where 62.9 s was recorded; geometric: 63.4 s).
 */
export function quantile(distribution: Distribution, u: number): number {
  if (typeof distribution === 'number') return distribution;
  if ('quantiles' in distribution) {
    const points = distribution.quantiles;
    let i = 1;
    while (i < points.length - 1 && points[i]![0] <= u) i++;
    const [p0, v0] = points[i - 1]!;
    const [p1, v1] = points[i]!;
    const t = Math.min(1, Math.max(0, (u - p0) / (p1 - p0)));
    return v0 > 0 ? v0 * (v1 / v0) ** t : v0 + (v1 - v0) * t;
  }
  if ('exponential' in distribution) return -distribution.exponential.mean * Math.log1p(-u);
  const { median, sigma } = distribution.lognormal;
  return sigma === 0 ? median : median * Math.exp(sigma * normalQuantile(u));
}

/**
 * The mean, exactly: a geometric piece from a to b has (b - a) / ln(b / a), one from 0 the middle.
 */
export function mean(distribution: Distribution): number {
  if (typeof distribution === 'number') return distribution;
  if ('exponential' in distribution) return distribution.exponential.mean;
  if ('lognormal' in distribution)
    return distribution.lognormal.median * Math.exp(distribution.lognormal.sigma ** 2 / 2);
  let sum = 0;
  for (let i = 1; i < distribution.quantiles.length; i++) {
    const [p0, v0] = distribution.quantiles[i - 1]!;
    const [p1, v1] = distribution.quantiles[i]!;
    // Near-equal ends: the logarithm would lose the digits the middle keeps.
    const geometric = v0 > 0 && v1 / v0 > 1 + 1e-6;
    sum += (p1 - p0) * (geometric ? (v1 - v0) / Math.log(v1 / v0) : (v0 + v1) / 2);
  }
  return sum;
}

/** The distribution of `factor` times the quantity. */
export function scaled(distribution: Distribution, factor: number): Distribution {
  if (typeof distribution === 'number') return distribution * factor;
  if ('quantiles' in distribution)
    return { quantiles: distribution.quantiles.map(([p, v]) => [p, round(v * factor)]) };
  if ('exponential' in distribution)
    return { exponential: { mean: distribution.exponential.mean * factor } };
  return {
    lognormal: { ...distribution.lognormal, median: distribution.lognormal.median * factor },
  };
}

/** To a thousandth: files are read by people, and no trace knows more. */
function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/**
 * Inverse of the standard normal distribution (Acklam's rational approximation, relative error
 * below 1.2e-9).
 */
export function normalQuantile(u: number): number {
  const p = Math.min(1 - 1e-12, Math.max(1e-12, u));
  if (p < 0.02425) return tail(Math.sqrt(-2 * Math.log(p)));
  if (p > 1 - 0.02425) return -tail(Math.sqrt(-2 * Math.log(1 - p)));
  const q = p - 0.5;
  const r = q * q;
  const over =
    ((((-39.69683028665376 * r + 220.9460984245205) * r - 275.9285104469687) * r +
      138.357751867269) *
      r -
      30.66479806614716) *
      r +
    2.506628277459239;
  const under =
    ((((-54.47609879822406 * r + 161.5858368580409) * r - 155.6989798598866) * r +
      66.80131188771972) *
      r -
      13.28068155288572) *
      r +
    1;
  return (q * over) / under;
}

function tail(q: number): number {
  const over =
    ((((-0.007784894002430293 * q - 0.3223964580411365) * q - 2.400758277161838) * q -
      2.549732539343734) *
      q +
      4.374664141464968) *
      q +
    2.938163982698783;
  const under =
    (((0.007784695709041462 * q + 0.3224671290700398) * q + 2.445134137142996) * q +
      3.754408661907416) *
      q +
    1;
  return over / under;
}
