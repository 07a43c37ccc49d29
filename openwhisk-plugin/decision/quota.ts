/**
 * The least quota that never throttles a short activation: quota x period covers its p95 CPU time
 * if that fits in one period. It fits if the user's own quota would not throttle it, and it is at
 * most one core's work, or the whole run (several threads) ends within the period. Otherwise 0:
 * longer runs show their peaks, and the mid-run safeguard sees them in time.
 *
 * @param p95CpuTime CPU-ms, NaN = unknown. @param duration expected, ms. @param user millicores.
 * @param period us. Returns millicores.
 */
export function shortRunQuota(
  p95CpuTime: number,
  duration: number,
  user: number,
  period: number,
): number {
  if (!(p95CpuTime > 0) || !(period > 0)) return 0;
  const periodMillis = period / 1000;
  if (p95CpuTime > periodMillis && !(duration <= periodMillis)) return 0;
  const needed = (p95CpuTime / periodMillis) * 1000;
  return needed <= user ? needed : 0;
}
