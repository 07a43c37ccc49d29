/** Window of the rates that are shown, ms. */
export const RATE_WINDOW = 10_000;

interface Sample {
  readonly at: number;
  readonly total: number;
}

/**
 * Rates of rising totals, per second of each host's own clock: over a window, or over the time
 * between the two newest totals if that is longer. A host counts until it is forgotten.
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

  /** Sum over hosts; null before a second total of any. */
  rate(): number | null {
    let sum: number | null = null;
    for (const { samples, clockRate } of this.#hosts.values()) {
      const [first] = samples;
      const last = samples.at(-1);
      if (first === undefined || last === undefined || last.at <= first.at) continue;
      const rate = ((last.total - first.total) * 1000) / (last.at - first.at) / clockRate;
      sum = (sum ?? 0) + rate;
    }
    return sum;
  }
}
