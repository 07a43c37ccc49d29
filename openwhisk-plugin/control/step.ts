import { LatencyHistogram } from '../../broker/messages/index.js';
import type { EndedActivation } from './ended-activation.js';

/** What a step reads of an activation. */
export type EndedStep = Pick<EndedActivation, 'run' | 'duration' | 'initMicros' | 'cold' | 'clean'>;

/** Minimum, mean and maximum of something, without keeping it. */
class Spread {
  min = Number.POSITIVE_INFINITY;
  max = 0;
  #sum = 0;
  #count = 0;

  add(value: number): void {
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
    this.#sum += value;
    this.#count++;
  }

  toMessage(): { min: number; mean: number; max: number } {
    if (this.#count === 0) return { min: 0, mean: 0, max: 0 };
    return { min: this.min, mean: this.#sum / this.#count, max: this.max };
  }

  clear(): void {
    this.min = Number.POSITIVE_INFINITY;
    this.max = 0;
    this.#sum = 0;
    this.#count = 0;
  }
}

/** A control step closes after `stepActivations`, or `stepMillis` after the first of them. */
export interface StepLength {
  readonly stepActivations: number;
  readonly stepMillis: number;
}

/** Sums of one control step of one function, filled as activations end. Times in ms. */
export class Step {
  number = 0;
  /** Monotonic time at which it began; 0 before its first activation. */
  beganAt = 0;
  /** Activations that ended in it, those of the control arm included, and without them. */
  ended = 0;
  activations = 0;
  coldStarts = 0;
  failures = 0;
  oomKills = 0;
  readonly latency = new LatencyHistogram();
  /** The part of it that started cold. */
  readonly coldLatency = new LatencyHistogram();
  readonly control = new LatencyHistogram();
  peakCpu = 0;
  peakMemory = 0;
  #usedCpu = 0;
  #usedMemory = 0;
  #used = 0;
  periods = 0;
  throttledPeriods = 0;
  waited = 0;
  /** This host's kernel reports waiting. */
  waits = false;
  initTotal = 0;
  inits = 0;
  readonly cpu = new Spread();
  readonly memory = new Spread();

  get empty(): boolean {
    return this.ended === 0;
  }

  isFull({ stepActivations }: StepLength): boolean {
    return this.ended >= stepActivations;
  }

  /** Monotonic time at which a step with an activation closes, full or not. */
  closesAt({ stepMillis }: StepLength): number {
    return this.beganAt + stepMillis;
  }

  get usedCpu(): number {
    return this.#used === 0 ? 0 : this.#usedCpu / this.#used;
  }

  get usedMemory(): number {
    return this.#used === 0 ? 0 : this.#usedMemory / this.#used;
  }

  /** `failed` as the outcome says; `cpu`, millicores busy on average over it, -1 unknown. */
  record(activation: EndedStep, failed: boolean, cpu: number, now: number): void {
    if (this.empty) this.beganAt = now;
    this.ended++;
    const { run } = activation;
    const latency = (activation.duration + activation.initMicros) / 1000;
    if (run.control) {
      this.control.record(latency);
      return;
    }
    this.activations++;
    if (activation.cold) this.coldStarts++;
    if (activation.initMicros > 0) {
      this.initTotal += activation.initMicros / 1000;
      this.inits++;
    }
    if (failed) this.failures++;
    if (activation.clean) {
      this.latency.record(latency);
      if (activation.cold) this.coldLatency.record(latency);
    }
    if (run.cpu.peak > this.peakCpu) this.peakCpu = run.cpu.peak;
    if (run.memory.peak > this.peakMemory) this.peakMemory = run.memory.peak;
    if (cpu >= 0 && run.memory.peak >= 0) {
      this.#usedCpu += cpu;
      this.#usedMemory += run.memory.peak;
      this.#used++;
    }
    // In modes that write nothing the user's limits were in force.
    this.cpu.add(run.enforced ? run.cpu.granted : run.cpu.user);
    this.memory.add(run.enforced ? run.memory.granted : run.memory.user);
  }

  clear(): void {
    this.number++;
    this.beganAt = 0;
    this.ended = this.activations = this.coldStarts = this.failures = this.oomKills = 0;
    this.latency.clear();
    this.coldLatency.clear();
    this.control.clear();
    this.peakCpu = this.peakMemory = this.#usedCpu = this.#usedMemory = this.#used = 0;
    this.periods = this.throttledPeriods = this.waited = this.initTotal = this.inits = 0;
    this.cpu.clear();
    this.memory.clear();
  }
}
