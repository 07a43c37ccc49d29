interface Sample {
  readonly at: number;
  readonly total: number;
}

/** Rates of rising totals over a window, per second of each host's own clock. */
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
    // A total that falls was reset.
    if ((entry.samples.at(-1)?.total ?? 0) > total) entry.samples.length = 0;
    entry.samples.push({ at, total });
    while (entry.samples.length > 2 && entry.samples[0]!.at < at - this.#windowMillis)
      entry.samples.shift();
  }

  forget(host: string): void {
    this.#hosts.delete(host);
  }

  /** Sum over hosts. A host that is silent for three windows adds nothing. */
  rate(now: number): number {
    let sum = 0;
    for (const { samples, clockRate } of this.#hosts.values()) {
      const [first] = samples;
      const last = samples.at(-1);
      if (first === undefined || last === undefined || last.at <= first.at) continue;
      if (now - last.at > 3 * this.#windowMillis) continue;
      sum += ((last.total - first.total) * 1000) / (last.at - first.at) / clockRate;
    }
    return sum;
  }
}
