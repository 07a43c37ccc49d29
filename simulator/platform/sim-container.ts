import type { Bytes, Micros, Millicores, Millis } from '../../config/index.js';
import type { Limits, UsageSample } from '../../openwhisk-plugin/decision/index.js';
import type { ContainerInfo } from '../../openwhisk-plugin/host/ports/index.js';
import { type Cluster, OnCore, PERIOD_MICROS } from '../engine/index.js';

/**
 * A running container of the simulated host: its limits, and the counters that the kernel would
 * have of it. The engine counts by activation, so what activations that are over have used is added
 * up here.
 */
export class SimContainer {
  /** In the engine's columns. */
  readonly index: number;
  readonly info: ContainerInfo;
  readonly address: number;
  /** Number of its open request; 0: none. */
  connection = 0;
  activationId: string;
  paused = false;
  oomKills = 0;
  readonly #cluster: Cluster;
  #throttledPeriods = 0;
  #waited = 0;
  #periods = 0;
  #periodsFrom = 0;
  #peak = 0;
  /** Working set between two phases, bytes: the engine frees the activation a little later. */
  #resting: number | null = null;

  constructor(
    cluster: Cluster,
    index: number,
    info: ContainerInfo,
    address: number,
    activationId: string,
  ) {
    this.#cluster = cluster;
    this.index = index;
    this.info = info;
    this.address = address;
    this.activationId = activationId;
    this.#peak = this.workingSet();
  }

  readLimits(into: Limits): void {
    const k = this.#cluster.containers.columns;
    into.shares = k.weight[this.index]!;
    into.quota = ((k.quota[this.index]! * 1000) / PERIOD_MICROS) as Millicores;
    into.memory = k.limit[this.index]! as Bytes;
  }

  /** `/init` or `/run` is about to begin. */
  phaseStarts(): void {
    this.#resting = null;
    this.#periodsFrom = this.#cluster.now;
  }

  /** `/init` or `/run` is over and `retained` bytes stay in use. */
  phaseEnded(activation: number, retained: number): void {
    const { columns: c } = this.#cluster.activations;
    this.#countPeriods();
    this.#peak = Math.max(this.#peak, this.workingSet());
    this.#throttledPeriods += c.throttled[activation]!;
    this.#waited += c.waited[activation]!;
    this.#resting = retained;
  }

  setShares(shares: number): void {
    this.#cluster.invokers.limits.setWeight(this.index, shares, this.#cluster.now);
  }

  /** Core-us a period. */
  setQuota(quota: number): void {
    this.#countPeriods();
    this.#cluster.invokers.limits.setQuota(this.index, quota, this.#cluster.now);
  }

  setMemory(limit: Bytes): void {
    this.#cluster.invokers.limits.setMemory(this.index, limit, this.#cluster.now);
  }

  /** CPU time used, us. */
  cpu(): number {
    const { columns: k } = this.#cluster.containers;
    this.#settle();
    const a = k.first[this.index]!;
    return k.cpu[this.index]! + (a < 0 ? 0 : this.#cluster.activations.columns.cpuUsed[a]!);
  }

  /** Bytes. */
  workingSet(): number {
    if (this.#resting !== null) return this.#resting;
    this.#settle();
    return this.#cluster.invokers.limits.workingSet(this.#running());
  }

  resetPeak(): void {
    this.#peak = this.workingSet();
  }

  sample(into: UsageSample): void {
    const { columns: c } = this.#cluster.activations;
    const workingSet = this.workingSet();
    const a = this.#running();
    this.#peak = Math.max(this.#peak, workingSet);
    this.#countPeriods();
    into.at = (this.#cluster.now / 1000) as Millis;
    into.cpu = this.cpu() as Micros;
    into.workingSet = Math.round(workingSet) as Bytes;
    into.peak = Math.round(this.#peak);
    into.periods = this.#periods;
    into.throttledPeriods = this.#throttledPeriods + (a < 0 ? 0 : c.throttled[a]!);
    into.waiting = this.#waited + (a < 0 ? 0 : c.waited[a]!);
    into.oomKills = this.oomKills;
    into.limitHits = this.oomKills;
    into.frozen = this.paused;
  }

  /** Its activation, one at a time; -1 between two phases. */
  #running(): number {
    return this.#resting === null ? this.#cluster.containers.columns.first[this.index]! : -1;
  }

  /** Brings the columns of its activation up to now. */
  #settle(): void {
    const a = this.#running();
    if (a >= 0 && this.#cluster.activations.columns.onCore[a] !== OnCore.not)
      this.#cluster.cores.settle(a, this.#cluster.now);
  }

  /** The kernel counts the periods of a group that has a quota while something runs in it. */
  #countPeriods(): void {
    const { columns: k } = this.#cluster.containers;
    const { now } = this.#cluster;
    const epoch = k.epoch[this.index]!;
    const boundaries = (at: number): number => Math.floor((at - epoch) / PERIOD_MICROS);
    if (this.#resting === null && k.quota[this.index]! > 0)
      this.#periods += boundaries(now) - boundaries(this.#periodsFrom);
    this.#periodsFrom = now;
  }
}
