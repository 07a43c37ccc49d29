import { preservationOf } from '../../agents/index.js';
import { type Random, SeededRandom, standardNormal } from '../../config/index.js';
import { type AwareAllocation, INITIAL, within } from './allocation.js';
import type { Demand } from './demand.js';

/** One control step as a controller sees it; latencies in s, CPU in cores, memory in MiB. */
export interface SystemSnapshot {
  readonly allocation: AwareAllocation;
  /** Activations a second. */
  readonly rate: number;
  readonly cpuUse: number;
  readonly memoryUse: number;
  /** Shares of what was given, 0 to 1. */
  readonly cpuUtilization: number;
  readonly memoryUtilization: number;
  readonly mean: number;
  readonly p99: number;
  readonly slo: number;
  readonly preservation: number;
  /** Share of an activation's time in which it neither computed nor waited for a core. */
  readonly waiting: number;
  readonly oomKills: number;
}

/** A control step [AWARE]. */
export const STEP_SECONDS = 10;
/**
 * p99 over mean of service times and waits (their spread and the payload's), and of an exponential
 * wait.
 */
const TAIL = 2;
const WAIT_TAIL = Math.log(100);
/** What waits longer has failed: s. */
const CLIENT_TIMEOUT_SECONDS = 30;
/** Measured latencies: standard deviation of their logarithm. */
const MEASURED = 0.04;
const LOAD_MOST = 0.98;

/**
 * Mean wait of M/M/k (Sakasegawa 1977) in units of the service time: load^(sqrt(2(k+1)) - 1) / (k
 * (1 - load)).
 */
export const queueing = (load: number, servers: number): number =>
  load ** (Math.sqrt(2 * (servers + 1)) - 1) / (servers * (1 - load));

/** Latency of a load on an allocation, without noise and backlog. */
export function latencyOf(
  demand: Demand,
  rate: number,
  { cpu, containers }: AwareAllocation,
): { mean: number; p99: number } {
  // An activation runs on one core at most; a smaller container runs it slower.
  const speed = Math.min(1, cpu);
  const servers = Math.max(1, (containers * cpu) / speed);
  const load = Math.min(LOAD_MOST, (rate * demand.cpu) / (containers * cpu));
  const service = demand.cpu / speed;
  const queue = service * queueing(load, servers);
  return {
    mean: demand.wait + service + queue,
    p99: TAIL * (demand.wait + service) + WAIT_TAIL * queue,
  };
}

/** Load at which the tail of the latency turns up, and the room above it that users grant. */
const KNEE = 0.7;
const SLO_HEADROOM = 1.1;

/** The SLO: tail latency at the knee of the load curve, on containers of one core [SIMPPO]. */
export function sloOf(demand: Demand): number {
  const containers = Math.max(2, Math.ceil((demand.rate * demand.cpu) / KNEE));
  return (
    SLO_HEADROOM *
    latencyOf(demand, (KNEE * containers) / demand.cpu, { cpu: 1, memory: 512, containers }).p99
  );
}

/**
 * One application on containers that share nothing: activations as a fluid with a backlog,
 * latencies by a queueing formula. Time goes on from episode to episode, and so do allocation and
 * backlog.
 */
export class AwareSystem {
  readonly #random: Random;
  #demand: Demand;
  #slo: number;
  #allocation = INITIAL;
  /** Core-s of work that waits. */
  #backlog = 0;
  #step = 0;
  #drift = 0;

  constructor(demand: Demand, seed: number) {
    this.#demand = demand;
    this.#slo = sloOf(demand);
    this.#random = new SeededRandom(seed).fork('calls');
  }

  /** Other payloads, or another load: from the next step on. */
  change(demand: Demand): void {
    this.#demand = demand;
    this.#slo = sloOf(demand);
  }

  get allocation(): AwareAllocation {
    return this.#allocation;
  }

  /** Activations a second of the next step: a swing, a slow drift, and noise. */
  #rate(): number {
    const { rate, swing, period, noise } = this.#demand;
    const around = 1 + swing * Math.sin((2 * Math.PI * this.#step++) / period);
    this.#drift = 0.9 * this.#drift + noise * standardNormal(this.#random);
    return Math.max(0, rate * around * Math.exp(this.#drift));
  }

  step(target: AwareAllocation): SystemSnapshot {
    const allocation = {
      cpu: within('cpu', target.cpu),
      memory: within('memory', target.memory),
      containers: Math.round(within('containers', target.containers)),
    };
    this.#allocation = allocation;
    const demand = this.#demand;
    const rate = this.#rate();
    const { mean: undisturbed, p99: tail } = latencyOf(demand, rate, allocation);
    const capacity = allocation.containers * allocation.cpu;
    const work = rate * demand.cpu * STEP_SECONDS + this.#backlog;
    const done = Math.min(work, capacity * STEP_SECONDS);
    const left = Math.min(work - done, CLIENT_TIMEOUT_SECONDS * capacity);
    const queued = (this.#backlog + left) / 2 / capacity;
    this.#backlog = left;
    const mean = undisturbed + queued;
    const inFlight = Math.min(100, (rate * mean) / allocation.containers);
    const needed = demand.idleMiB + demand.activationMiB * Math.max(1, inFlight);
    // A container that is killed starts again and loses its activations.
    const killed = needed > allocation.memory;
    const measured = Math.exp(MEASURED * standardNormal(this.#random));
    const p99 = (tail + queued) * measured + (killed ? CLIENT_TIMEOUT_SECONDS : 0);
    const cpuUse = done / STEP_SECONDS;
    const memoryUse = Math.min(needed, allocation.memory);
    return {
      allocation,
      rate,
      cpuUse,
      memoryUse,
      cpuUtilization: cpuUse / capacity,
      memoryUtilization: memoryUse / allocation.memory,
      mean,
      p99,
      slo: this.#slo,
      preservation: preservationOf(this.#slo, p99),
      waiting: demand.wait / mean,
      oomKills: killed ? allocation.containers : 0,
    };
  }
}
