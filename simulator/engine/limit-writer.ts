import type { DecisionSettings } from '../../openwhisk-plugin/decision/index.js';
import { OnCore } from './activations.js';
import { quotaOf } from './cfs.js';
import type { Cluster } from './cluster.js';
import type { ClusterRun, ManagedContainer } from './managed-container.js';

/**
 * Writes limits into the engine at once, as a limit writer writes cgroups, and arms what the engine
 * must watch under them.
 */
export class EngineLimitWriter {
  readonly #cluster: Cluster;
  readonly #settings: DecisionSettings;

  constructor(cluster: Cluster, settings: DecisionSettings) {
    this.#cluster = cluster;
    this.#settings = settings;
  }

  /** A container started: `quota` in millicores. */
  boost({ index, state }: ManagedContainer, quota: number, now: number): void {
    const { limits } = this.#cluster.invokers;
    limits.setWeight(index, state.shares, now);
    if (state.mode === 'quota') limits.setQuota(index, quotaOf(quota), now);
  }

  endBoost(managed: ManagedContainer, now: number): void {
    const { limits } = this.#cluster.invokers;
    const { index, state } = managed;
    managed.boosted = false;
    limits.setWeight(index, state.shares, now);
    if (state.runs.length === 0) limits.setQuota(index, quotaOf(state.userQuota), now);
  }

  /** Puts the grants of a container's runs into force. */
  write(managed: ManagedContainer, now: number): void {
    const { limits } = this.#cluster.invokers;
    const { state, index } = managed;
    const { runs } = state;
    for (let i = 0; i < runs.length; i++) this.#watch(runs[i] as ClusterRun, runs.length, now);
    const run = runs[0]!;
    managed.boosted = false;
    limits.setWeight(index, state.shares, now);
    if (state.mode === 'quota') limits.setQuota(index, quotaOf(run.quota), now);
    if (run.memory.user > 0) limits.setMemory(index, run.memoryLimit, now);
  }

  /**
   * Quotas return to the user's at the end; weights stay, since a container serves one function.
   */
  restore({ index, state }: ManagedContainer, now: number): void {
    const { limits } = this.#cluster.invokers;
    if (state.mode === 'quota') limits.setQuota(index, quotaOf(state.userQuota), now);
    if (state.memory.active) limits.setMemory(index, state.user.memory, now);
  }

  /**
   * Tells the engine what to watch of a run for the safeguard; called when its limits are written.
   */
  #watch(run: ClusterRun, together: number, now: number): void {
    const { columns: c } = this.#cluster.activations;
    const { cores, invokers } = this.#cluster;
    const { thetaSpike, midRun } = this.#settings;
    const { cpu, memory, activation } = run;
    const quota = run.container.mode === 'quota';
    const trip =
      midRun && quota && cpu.reduced
        ? (thetaSpike * cpu.granted) / 1000 / together
        : Number.POSITIVE_INFINITY;
    const later = trip > c.tripRate[activation]!;
    c.tripRate[activation] = trip;
    // Unchanged limits arm nothing.
    if (!later && c.onCore[activation] !== OnCore.not) cores.interrupted(activation, now);
    if (midRun && memory.reduced)
      invokers.limits.watchMemory(activation, thetaSpike * memory.granted);
    else invokers.limits.forget(activation);
  }
}
