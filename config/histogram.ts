/** Seconds: a cgroup write takes some 2 us, a memory reduction may wait for the kernel. */
const DURATION_BOUNDS: readonly number[] = [
  2e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 1e-3, 1e-2, 0.1, 1,
];

/** Values in fixed buckets, as a scrape reads them; adding allocates nothing. */
export class FixedHistogram {
  /** Upper bounds, rising. */
  readonly bounds: readonly number[];
  /** By bucket, the last one without a bound; not cumulative. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  record(value: number): void {
    const { bounds } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
    this.counts[bucket]!++;
    this.sum += value;
  }
}

export class DurationHistogram extends FixedHistogram {
  constructor() {
    super(DURATION_BOUNDS);
  }

  add(micros: number): void {
    this.record(Math.max(0, micros) / 1e6);
  }
}

/** How long the steps of a part's loop take on this machine, whatever clock it runs by. */
export class StepTimes<Step extends string> {
  readonly histograms: Readonly<Record<Step, DurationHistogram>>;
  #at = 0;

  constructor(steps: readonly Step[]) {
    this.histograms = Object.fromEntries(
      steps.map((step) => [step, new DurationHistogram()]),
    ) as never;
  }

  /** A round begins. */
  begin(): void {
    this.#at = performance.now();
  }

  /** What began with `begin`, or with the step before, has ended. */
  ended(step: Step): void {
    const now = performance.now();
    this.histograms[step].add((now - this.#at) * 1000);
    this.#at = now;
  }
}
