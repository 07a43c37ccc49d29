import { MIB } from '../../../config/index.js';
import { cpuUnitOf } from '../../../rules/index.js';
import { FORGET, PowerFit } from '../power-fit.js';
import type { DecisionSettings } from '../settings.js';
import { DecayingHistogram } from '../statistics.js';

/** The larger of a share and a unit within which a prediction counts as right. */
const RIGHT_SHARE = 0.1;

/**
 * One resource of one function: what a size predicts, how often that was right, and the P99 of all
 * peaks.
 */
export class DemandProfile {
  readonly #fit = new PowerFit();
  readonly #peaks = new DecayingHistogram();
  /** Decaying share of predictions that were right. */
  #right = 0;
  #predicted = 0;
  /** P99 of the peaks; NaN without any. */
  p99 = Number.NaN;

  /** `size` NaN or not positive: unknown. */
  learn(size: number, peak: number, unit: number, now: number, halfLife: number): void {
    if (!(peak >= 0)) return;
    this.#peaks.add(peak, now, halfLife);
    if (this.#peaks.isPercentileDue) this.p99 = this.#peaks.percentile(0.99);
    if (!(size > 0)) return;
    const guess = this.#fit.predict(size);
    if (guess >= 0) {
      const right = Math.abs(guess - peak) <= Math.max(unit, RIGHT_SHARE * peak);
      this.#right = this.#right * FORGET + (right ? 1 : 0);
      this.#predicted = this.#predicted * FORGET + 1;
    }
    this.#fit.add(size, peak);
  }

  /** Share of recent predictions that were right; 0 before the first. */
  get accuracy(): number {
    return this.#predicted > 0 ? this.#right / this.#predicted : 0;
  }

  predict(size: number): number {
    return this.#fit.predict(size);
  }
}

/**
 * Accuracy of both demands and R2 of the duration from which a function counts as size-related
 * [Libra-HPDC23].
 */
const TRUSTED = 0.9;
/** Activations with a known size before any of this is believed. */
const MIN_ACTIVATIONS = 20;

/** What is read of a run; millicores and bytes. */
interface EndedRun {
  readonly payload: number;
  readonly cpu: { readonly user: number; readonly peak: number };
  readonly memory: { readonly peak: number };
}

type ProfileSettings = Pick<
  DecisionSettings,
  'cpuUnit' | 'cpuUnitShare' | 'memoryUnit' | 'halfLife'
>;

/** What Libra keeps of one function. CPU in millicores, memory in MiB. */
export class LibraProfile {
  readonly cpu = new DemandProfile();
  readonly memory = new DemandProfile();
  readonly #duration = new PowerFit();
  #sized = 0;
  #smallest = Number.POSITIVE_INFINITY;
  #largest = 0;
  /**
   * The last run used all it had: what it could use is not known, and this is tried next; 0 =
   * nothing.
   */
  probe = 0;

  /** From a run of `duration` ms. */
  learn(
    { payload: size, cpu, memory }: EndedRun,
    duration: number,
    settings: ProfileSettings,
    now: number,
  ): void {
    const { memoryUnit, halfLife } = settings;
    const working = memory.peak >= 0 ? memory.peak / MIB : Number.NaN;
    this.cpu.learn(size, cpu.peak, cpuUnitOf(cpu.user, settings), now, halfLife);
    this.memory.learn(size, working, memoryUnit / MIB, now, halfLife);
    if (!(size > 0)) return;
    this.#duration.add(size, duration);
    this.#sized++;
    if (size < this.#smallest) this.#smallest = size;
    if (size > this.#largest) this.#largest = size;
  }

  /** Both demands and the duration follow the size. */
  get sizeRelated(): boolean {
    return (
      this.#sized >= MIN_ACTIVATIONS &&
      this.cpu.accuracy >= TRUSTED &&
      this.memory.accuracy >= TRUSTED &&
      this.#duration.r2 >= TRUSTED
    );
  }

  /** Sizes that were never seen are not predicted. */
  covers(size: number): boolean {
    return size >= this.#smallest && size <= this.#largest;
  }
}
