import type { Bytes, Micros, Millis } from '../../config/index.js';
import { emptySample, type UsageSample } from '../../openwhisk-plugin/decision/index.js';
import { OnCore } from './activations.js';
import type { Cluster } from './cluster.js';

/**
 * Reads of a container what the usage monitor of a real host would, exactly and without delay.
 * `now`: microseconds.
 */
export class EngineUsage {
  readonly #cluster: Cluster;
  readonly #sample: UsageSample = emptySample();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** CPU time that the container of an activation has used, us. */
  cpu(container: number, a: number, now: number): number {
    const { columns: c } = this.#cluster.activations;
    const { columns: k } = this.#cluster.containers;
    if (k.active[container] === 1) return k.cpu[container]! + c.cpuUsed[a]!;
    let cpu = k.cpu[container]!;
    for (let other = k.first[container]!; other >= 0; other = c.sibling[other]!) {
      if (c.onCore[other] !== OnCore.not) this.#cluster.cores.settle(other, now);
      cpu += c.cpuUsed[other]!;
    }
    return cpu;
  }

  /** One object, reused. `throttled`: periods of the container's runs that are over. */
  read(container: number, a: number, throttled: number, now: number): UsageSample {
    const sample = this.#sample;
    sample.at = (now / 1000) as Millis;
    sample.cpu = this.cpu(container, a, now) as Micros;
    // Rounding must not put a working set that equals its limit below it.
    const workingSet = Math.ceil(this.#cluster.invokers.limits.workingSet(a) * (1 + 1e-9));
    sample.workingSet = workingSet as Bytes;
    sample.peak = workingSet;
    sample.throttledPeriods = throttled + this.#cluster.activations.columns.throttled[a]!;
    return sample;
  }

  /** CPU time that an activation still needs, ms: unknown to a real hook. */
  remainingCpu(a: number, now: number): number {
    const { columns: c } = this.#cluster.activations;
    if (c.onCore[a] !== OnCore.not) this.#cluster.cores.settle(a, now);
    return (c.work[a]! - c.done[a]!) / 1000;
  }
}
