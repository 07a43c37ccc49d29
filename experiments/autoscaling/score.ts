import { preservationOf } from '../../agents/index.js';
import { publishedReward } from '../../agents/simppo/index.js';
import { quantileOf } from '../statistics.js';
import type { ScalingState } from './agent/state.js';
import type { ScalingCluster } from './scaling-cluster.js';

/** One function over the steps that count. */
interface FunctionScore {
  readonly name: string;
  /** Mean per step, without penalties and price. */
  readonly reward: number;
  readonly sloPreservation: number;
  readonly cpuUse: number;
  readonly memoryUse: number;
  readonly activations: number;
  /** Share of the activations that were late or failed. */
  readonly violations: number;
  /** Share of the steps whose p99 was above the SLO. */
  readonly violatedSteps: number;
  /**
   * p99 of the response time, ms, NaN without activations; a failed activation counts as the
   * client's timeout.
   */
  readonly p99: number;
  readonly slo: number;
}

/** A run: means over functions, each with the same weight. */
export interface RunScore {
  readonly functions: readonly FunctionScore[];
  readonly reward: number;
  readonly sloPreservation: number;
  readonly cpuUse: number;
  readonly memoryUse: number;
  readonly violations: number;
  readonly violatedSteps: number;
  /** Requested over available, mean over steps. */
  readonly occupancy: number;
  /** The reward if use were a share of the request and not of what was granted of it. */
  readonly rewardOfRequests: number;
}

/** Adds up a run's steps, once `listen` has been called. */
export class ScoreKeeper {
  readonly #cluster: ScalingCluster;
  readonly #times: number[][];
  readonly #sums: { reward: number; slo: number; cpu: number; memory: number; violated: number }[];
  #steps = 0;
  #occupancy = 0;
  #ofRequests = 0;

  constructor(cluster: ScalingCluster) {
    this.#cluster = cluster;
    this.#times = cluster.states.map(() => []);
    this.#sums = cluster.states.map(() => ({ reward: 0, slo: 0, cpu: 0, memory: 0, violated: 0 }));
  }

  /** From here on responses count. */
  listen(): void {
    this.#times.forEach((times, i) => {
      this.#cluster.listen(i, (millis) => times.push(millis));
    });
  }

  add(allObserved: readonly ScalingState[]): void {
    this.#steps++;
    this.#occupancy += this.#cluster.occupancy;
    allObserved.forEach((observed, i) => {
      const sums = this.#sums[i]!;
      const preservation = preservationOf(observed.slo, observed.tail);
      sums.reward += publishedReward(preservation, observed.cpuUse, observed.memoryUse);
      sums.slo += preservation;
      sums.cpu += observed.cpuUse;
      sums.memory += observed.memoryUse;
      sums.violated += Number(observed.tail > observed.slo);
      const { held, granted } = this.#cluster.states[i]!;
      const requested = (held.cpu / 1000) * held.containers * this.#cluster.options.stepMs;
      const ofRequest = (observed.cpuUse * granted) / requested;
      this.#ofRequests += publishedReward(preservation, ofRequest, observed.memoryUse);
    });
  }

  /** Once, at the end; it stops receiving responses. */
  close(): RunScore {
    const steps = this.#steps;
    const functions = this.#cluster.states.map(({ fn, slo }, i): FunctionScore => {
      this.#cluster.listen(i, null);
      const times = Float64Array.from(this.#times[i]!).sort();
      const sums = this.#sums[i]!;
      let late = times.length;
      // Ascending: those within the objective come first.
      for (let k = 0; k < times.length && times[k]! <= slo; k++) late--;
      return {
        name: fn.name,
        reward: sums.reward / steps,
        sloPreservation: sums.slo / steps,
        cpuUse: sums.cpu / steps,
        memoryUse: sums.memory / steps,
        activations: times.length,
        violations: times.length > 0 ? late / times.length : 0,
        violatedSteps: sums.violated / steps,
        p99: quantileOf(times, 0.99),
        slo,
      };
    });
    const mean = (of: (one: FunctionScore) => number): number =>
      functions.reduce((sum, one) => sum + of(one), 0) / functions.length;
    return {
      functions,
      reward: mean((one) => one.reward),
      sloPreservation: mean((one) => one.sloPreservation),
      cpuUse: mean((one) => one.cpuUse),
      memoryUse: mean((one) => one.memoryUse),
      violations: mean((one) => one.violations),
      violatedSteps: mean((one) => one.violatedSteps),
      occupancy: this.#occupancy / steps,
      rewardOfRequests: this.#ofRequests / steps / functions.length,
    };
  }
}
