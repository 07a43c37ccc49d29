import type { Micros, Millicores, Millis } from '../../config/index.js';

/**
 * The least quota that never cuts a short activation (design §3, quota mode): quota x period covers its p95 CPU time.
 * 0 where that does not fit in one period of the user's own quota: such a run is throttled under user limits too, and the mid-run
 * safeguard sees it in time.
 */
export function shortRunQuota(p95CpuTime: Millis, user: Millicores, period: Micros): Millicores {
  if (!(p95CpuTime > 0) || !(period > 0)) return 0 as Millicores;
  // CPU-ms per period, as millicores: 1 CPU-ms per ms = one core = 1000.
  const needed = (p95CpuTime * 1_000_000) / period;
  return (needed <= user ? needed : 0) as Millicores;
}
