import { LatencyHistogram } from '../../broker/messages/index.js';
import { Doubles } from '../../config/index.js';
import type { EndedActivation } from './ended-activation.js';

/** What a step reads of an activation. */
export type EndedStep = Pick<EndedActivation, 'run' | 'duration' | 'initMicros' | 'cold' | 'clean'>;

/** Minimum, maximum, sum and count of something, without keeping it. */
const Spread = { min: 0, max: 1, sum: 2, count: 3 } as const;
const SPREAD = 4;

function addToSpread(numbers: number[], from: number, value: number): void {
  const count = numbers[from + Spread.count]!;
  if (count === 0 || value < numbers[from + Spread.min]!) numbers[from + Spread.min] = value;
  if (value > numbers[from + Spread.max]!) numbers[from + Spread.max] = value;
  numbers[from + Spread.sum] = numbers[from + Spread.sum]! + value;
  numbers[from + Spread.count] = count + 1;
}

/** All 0 if there is nothing. */
const spreadOf = (
  numbers: readonly number[],
  from: number,
): { min: number; mean: number; max: number } => ({
  min: numbers[from + Spread.min]!,
  mean: numbers[from + Spread.sum]! / Math.max(1, numbers[from + Spread.count]!),
  max: numbers[from + Spread.max]!,
});

/** Shared by functions that have none so far, as most on a host: nothing is recorded in it. */
const NO_LATENCIES = new LatencyHistogram();

/** A control step closes after `stepActivations`, or `stepMillis` after the first of them. */
export interface StepLength {
  readonly stepActivations: number;
  readonly stepMillis: number;
}

const At = {
  beganAt: 0,
  peakCpu: 1,
  peakMemory: 2,
  usedCpu: 3,
  usedMemory: 4,
  used: 5,
  waited: 6,
  initTotal: 7,
  cpu: 8,
  memory: 8 + SPREAD,
} as const;
const SIZE = 8 + 2 * SPREAD;

/** Sums of one control step of one function, filled as activations end. Times in ms. */
export class Step {
  readonly #sums = new Doubles(SIZE).values;
  number = 0;
  /** Activations that ended in it, those of the control arm included, and without them. */
  ended = 0;
  activations = 0;
  coldStarts = 0;
  failures = 0;
  oomKills = 0;
  periods = 0;
  throttledPeriods = 0;
  /** This host's kernel reports waiting. */
  waits = false;
  inits = 0;
  readonly latency = new LatencyHistogram();
  /** The part of it that started cold. */
  coldLatency = NO_LATENCIES;
  control = NO_LATENCIES;
  get empty(): boolean {
    return this.ended === 0;
  }

  /** Monotonic time at which it began; 0 before its first activation. */
  get beganAt(): number {
    return this.#sums[At.beganAt]!;
  }

  /** What the activations were granted. */
  get grantedCpu(): { min: number; mean: number; max: number } {
    return spreadOf(this.#sums, At.cpu);
  }

  get grantedMemory(): { min: number; mean: number; max: number } {
    return spreadOf(this.#sums, At.memory);
  }

  get peakCpu(): number {
    return this.#sums[At.peakCpu]!;
  }

  get peakMemory(): number {
    return this.#sums[At.peakMemory]!;
  }

  get usedCpu(): number {
    return this.#sums[At.usedCpu]! / Math.max(1, this.#sums[At.used]!);
  }

  get usedMemory(): number {
    return this.#sums[At.usedMemory]! / Math.max(1, this.#sums[At.used]!);
  }

  get waited(): number {
    return this.#sums[At.waited]!;
  }

  get initTotal(): number {
    return this.#sums[At.initTotal]!;
  }

  isFull({ stepActivations }: StepLength): boolean {
    return this.ended >= stepActivations;
  }

  /** Monotonic time at which a step with an activation closes, full or not. */
  closesAt({ stepMillis }: StepLength): number {
    return this.beganAt + stepMillis;
  }

  /** A container has waited for a CPU, ms. */
  addWait(millis: number): void {
    this.#add(At.waited, millis);
  }

  /** `failed` as the outcome says; `cpu`, millicores busy on average over it, -1 unknown. */
  record(activation: EndedStep, failed: boolean, cpu: number, now: number): void {
    if (this.empty) this.#sums[At.beganAt] = now;
    this.ended++;
    const { run } = activation;
    const latency = (activation.duration + activation.initMicros) / 1000;
    if (run.control) {
      // As below: an end that was not seen has no latency.
      if (!activation.clean) return;
      if (this.control === NO_LATENCIES) this.control = new LatencyHistogram();
      this.control.record(latency);
      return;
    }
    this.activations++;
    if (activation.cold) this.coldStarts++;
    if (activation.initMicros > 0) {
      this.#add(At.initTotal, activation.initMicros / 1000);
      this.inits++;
    }
    if (failed) this.failures++;
    if (activation.clean) {
      this.latency.record(latency);
      if (activation.cold) {
        if (this.coldLatency === NO_LATENCIES) this.coldLatency = new LatencyHistogram();
        this.coldLatency.record(latency);
      }
    }
    if (run.cpu.peak > this.peakCpu) this.#sums[At.peakCpu] = run.cpu.peak;
    if (run.memory.peak > this.peakMemory) this.#sums[At.peakMemory] = run.memory.peak;
    if (cpu >= 0 && run.memory.peak >= 0) {
      this.#add(At.usedCpu, cpu);
      this.#add(At.usedMemory, run.memory.peak);
      this.#add(At.used, 1);
    }
    // In modes that write nothing the user's limits were in force.
    addToSpread(this.#sums, At.cpu, run.enforced ? run.cpu.granted : run.cpu.user);
    addToSpread(this.#sums, At.memory, run.enforced ? run.memory.granted : run.memory.user);
  }

  clear(): void {
    this.number++;
    this.ended = this.activations = this.coldStarts = this.failures = this.oomKills = 0;
    this.periods = this.throttledPeriods = this.inits = 0;
    this.#sums.fill(0);
    this.latency.clear();
    this.coldLatency.clear();
    this.control.clear();
  }

  #add(place: number, amount: number): void {
    this.#sums[place] = this.#sums[place]! + amount;
  }
}
