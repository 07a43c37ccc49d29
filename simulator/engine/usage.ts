import type { Bytes, Micros, Millis } from '../../config/index.js';
import type { UsagePort } from '../../openwhisk-plugin/control/index.js';
import { emptySample, type UsageSample } from '../../openwhisk-plugin/decision/index.js';
import { OnCore } from './activations.js';
import { PERIOD_MICROS } from './cfs.js';
import type { Cluster } from './cluster.js';
import type { EngineActivation, EngineContainer } from './managed-container.js';

/** Reads usage from the engine, exactly, where a real host reads cgroup files. */
export class EngineUsage implements UsagePort<EngineContainer> {
  /** The event's time, us; every event sets it. */
  now = 0;
  readonly #cluster: Cluster;
  readonly #sample: UsageSample = emptySample();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  atStart({ container, run }: EngineActivation, now: Millis): void {
    const { index, state } = container;
    run.startCpu = this.cpu(index, run.activation) as Micros;
    // A sampler would have read the working set just before: growth is measured from here.
    state.last.at = now;
    state.last.workingSet = this.#cluster.containers.columns.resident[index]! as Bytes;
  }

  atEnd(activation: EngineActivation): UsageSample {
    const { container, run, duration } = activation;
    const sample = this.read(activation);
    if (container.state.mode === 'quota') sample.periods += Math.ceil(duration / PERIOD_MICROS);
    run.endCpu = sample.cpu;
    return sample;
  }

  /** The engine's peaks are the activation's own. */
  resetPeak(): void {}

  /** CPU time that the container of an activation has used, us. */
  cpu(container: number, a: number): number {
    const { columns: c } = this.#cluster.activations;
    const { columns: k } = this.#cluster.containers;
    if (k.active[container] === 1) return k.cpu[container]! + c.cpuUsed[a]!;
    let cpu = k.cpu[container]!;
    for (let other = k.first[container]!; other >= 0; other = c.sibling[other]!) {
      if (c.onCore[other] !== OnCore.not) this.#cluster.cores.settle(other, this.now);
      cpu += c.cpuUsed[other]!;
    }
    return cpu;
  }

  /** One object, reused. */
  read({ container, run: { activation: a } }: EngineActivation): UsageSample {
    const sample = this.#sample;
    sample.at = (this.now / 1000) as Millis;
    sample.cpu = this.cpu(container.index, a) as Micros;
    // Where a limit is met to the byte, rounding must not lie below it.
    const workingSet = Math.ceil(this.#cluster.invokers.limits.workingSet(a) * (1 + 1e-9));
    sample.workingSet = workingSet as Bytes;
    sample.peak = workingSet;
    sample.periods = container.periods;
    sample.throttledPeriods =
      container.throttledPeriods + this.#cluster.activations.columns.throttled[a]!;
    sample.waiting = container.waiting + this.#cluster.activations.columns.waited[a]!;
    sample.oomKills = container.isOomKilled ? 1 : 0;
    return sample;
  }

  /** CPU time that an activation still needs, ms; no real host knows it. */
  remainingCpu(a: number): number {
    const { columns: c } = this.#cluster.activations;
    if (c.onCore[a] !== OnCore.not) this.#cluster.cores.settle(a, this.now);
    return (c.work[a]! - c.done[a]!) / 1000;
  }
}
