import type { Bytes } from '../../config/index.js';
import type { LimitPort } from '../../openwhisk-plugin/control/index.js';
import {
  cpuSpikeLevel,
  type DecisionSettings,
  memorySpikeLevel,
  sharesRange,
  type WeightRange,
  type WriteResult,
} from '../../openwhisk-plugin/decision/index.js';
import { OnCore } from './activations.js';
import { quotaOf } from './cfs.js';
import type { Cluster } from './cluster.js';
import type { EngineContainer, EngineRun } from './managed-container.js';

/**
 * Writes limits into the engine, where a real host writes cgroup files, and tells the engine what
 * the safeguard watches under such limits. Times in us.
 */
export class EngineLimitWriter implements LimitPort<EngineContainer> {
  /** The event's time; every event sets it. */
  now = 0;
  readonly #cluster: Cluster;
  readonly #settings: DecisionSettings;

  constructor(cluster: Cluster, settings: DecisionSettings) {
    this.#cluster = cluster;
    this.#settings = settings;
  }

  setShares({ index }: EngineContainer, shares: number): WriteResult {
    this.#cluster.invokers.limits.setWeight(index, shares, this.now);
    return 'written';
  }

  setQuota(container: EngineContainer, quota: number): WriteResult {
    this.watch(container);
    const { index, state } = container;
    if (state.mode === 'quota')
      this.#cluster.invokers.limits.setQuota(index, quotaOf(quota), this.now);
    return 'written';
  }

  setMemory(container: EngineContainer, limit: number): void {
    this.watch(container);
    this.#cluster.invokers.limits.setMemory(container.index, limit, this.now);
  }

  weightRange({ user: { shares } }: EngineContainer): WeightRange {
    return sharesRange(shares);
  }

  restore(container: EngineContainer): void {
    const { user } = container;
    this.setShares(container, user.shares);
    this.setQuota(container, user.quota);
    this.setMemory(container, user.memory);
  }

  /** The engine refuses nothing, protects nothing and has no groups above containers. */
  onMemoryRefused(): void {}
  protectMemory(): void {}
  recommend(): void {}

  memoryCeiling(): Bytes {
    return Number.POSITIVE_INFINITY as Bytes;
  }

  isChanged(container: EngineContainer): boolean {
    return container.limited;
  }

  memoryInForce({ index }: EngineContainer): number {
    return this.#cluster.containers.columns.limit[index]!;
  }

  /** What the engine must watch of the container's activations. */
  watch({ running, state: { runs } }: EngineContainer): void {
    if (running === 0) return;
    for (let i = 0; i < runs.length; i++) this.#watch(runs[i] as EngineRun, runs.length);
  }

  #watch(run: EngineRun, together: number): void {
    const { columns: c } = this.#cluster.activations;
    const { cores, invokers } = this.#cluster;
    const { activation } = run;
    const trip = cpuSpikeLevel(run, this.#settings) / 1000 / together;
    const later = trip > c.tripRate[activation]!;
    c.tripRate[activation] = trip;
    // A limit that stays or rises gives the engine nothing new to look for.
    if (!later && c.onCore[activation] !== OnCore.not) cores.interrupted(activation, this.now);
    invokers.limits.watchMemory(activation, memorySpikeLevel(run, this.#settings));
  }
}
