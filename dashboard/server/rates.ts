/** Window of the rates that are shown, ms. */
export const RATE_WINDOW = 10_000;

/** Periods without a new total after which a host does not count. */
const MISSING_TOTALS = 3;

interface Sample {
  readonly at: number;
  readonly total: number;
}

/**
 * Rates of rising totals, per second of each host's own clock: over a window, or over the time
 * between the two newest totals if that is longer. A host whose newest total is older than three
 * such times does not count.
 */
export class RateWindow {
  readonly #windowMillis: number;
  readonly #hosts = new Map<string, { samples: Sample[]; clockRate: number }>();

  constructor(windowMillis: number) {
    this.#windowMillis = windowMillis;
  }

  take(host: string, at: number, total: number, clockRate: number): void {
    let entry = this.#hosts.get(host);
    if (entry === undefined) {
      entry = { samples: [], clockRate };
      this.#hosts.set(host, entry);
    }
    entry.clockRate = clockRate;
    // A total that falls was reset: its source has restarted.
    if ((entry.samples.at(-1)?.total ?? 0) > total) entry.samples.length = 0;
    entry.samples.push({ at, total });
    while (entry.samples.length > 2 && entry.samples[0]!.at < at - this.#windowMillis)
      entry.samples.shift();
  }

  forget(host: string): void {
    this.#hosts.delete(host);
  }

  /** Sum over the hosts that count; null if none has a second total. `now` is as in `take`. */
  rate(now: number): number | null {
    let sum: number | null = null;
    for (const { samples, clockRate } of this.#hosts.values()) {
      const [first] = samples;
      const last = samples.at(-1);
      if (first === undefined || last === undefined || last.at <= first.at) continue;
      const period = Math.max(this.#windowMillis, last.at - samples.at(-2)!.at);
      if (now - last.at > MISSING_TOTALS * period) continue;
      const rate = ((last.total - first.total) * 1000) / (last.at - first.at) / clockRate;
      sum = (sum ?? 0) + rate;
    }
    return sum;
  }
}
