/** The 97.5 % quantile of the standard normal distribution. */
const Z = 1.959963985;

/**
 * The 97.5 % quantile of Student's t, so that mean ± quantile x standard error is a 95 % interval.
 * Exact for 1 and 2 degrees of freedom, within .13 % from 3 on; not meant for fractions below 3.
 */
export function studentQuantile(freedom: number): number {
  // One degree is Cauchy's distribution: F(t) = 1/2 + arctan(t) / π.
  if (freedom === 1) return Math.tan(0.475 * Math.PI);
  // Two: F(t) = 1/2 + t / (2 √(2 + t²)) = .975 is t² = .95² (2 + t²).
  if (freedom === 2) return 0.95 * Math.sqrt(2 / (1 - 0.95 ** 2));
  if (freedom === Number.POSITIVE_INFINITY) return Z;
  // [Abramowitz and Stegun 26.7.5], all four terms.
  const z2 = Z * Z;
  const first = (Z * (z2 + 1)) / 4;
  const second = (Z * (5 * z2 ** 2 + 16 * z2 + 3)) / 96;
  const third = (Z * (3 * z2 ** 3 + 19 * z2 ** 2 + 17 * z2 - 15)) / 384;
  const fourth = (Z * (79 * z2 ** 4 + 776 * z2 ** 3 + 1482 * z2 ** 2 - 1920 * z2 - 945)) / 92_160;
  return Z + first / freedom + second / freedom ** 2 + third / freedom ** 3 + fourth / freedom ** 4;
}

/**
 * Probability that |T| of Student's distribution is at least |t|. `freedom`: whole degrees, at
 * least 1. Exact [Abramowitz and Stegun 26.7.3, 26.7.4].
 */
export function studentTails(t: number, freedom: number): number {
  const angle = Math.atan(Math.abs(t) / Math.sqrt(freedom));
  const cos = Math.cos(angle);
  // Odd: cos + 2/3 cos³ + 2x4/(3x5) cos⁵ ...; even: 1 + 1/2 cos² + 1x3/(2x4) cos⁴ ...
  const odd = freedom % 2;
  let term = odd === 1 ? cos : 1;
  let series = 0;
  for (let k = 1 + odd; k < freedom; k += 2) {
    series += term;
    term *= (k / (k + 1)) * cos * cos;
  }
  const inside =
    odd === 1 ? (2 / Math.PI) * (angle + Math.sin(angle) * series) : Math.sin(angle) * series;
  return Math.max(0, 1 - inside);
}
