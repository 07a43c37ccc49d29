import { type Bytes, MIB, type Millicores, type Random } from '../../config/index.js';
import {
  Decider,
  type DecisionSettings,
  type HostCapacity,
  type Oracle,
  type Policies,
} from '../../openwhisk-plugin/decision/index.js';
import type { FunctionOnHost } from './function-on-host.js';
import type { ClusterShape } from './options.js';

/**
 * The hook of one host: every decision is its decider's, as on a real one. Time in ms, CPU in
 * millicores.
 */
export class ManagedHost {
  readonly decider: Decider;
  readonly functions: FunctionOnHost[] = [];
  /** Demand of all that runs now. */
  demand = 0;
  /** Millicore-ms since the start: borrowed, and demand. */
  borrowedIntegral = 0;
  demandIntegral = 0;
  #countedTo = 0;

  constructor(
    settings: DecisionSettings,
    shape: ClusterShape,
    policies: Policies,
    random: Random,
    oracle: Oracle,
  ) {
    this.decider = new Decider(settings, capacityOf(shape), policies, random);
    this.decider.oracle = oracle;
    // Memory outside of containers is known and constant here.
    this.decider.headroom.update((shape.systemMemoryMiB * MIB) as Bytes, 0 as Bytes);
  }

  /** Call it before anything changes. */
  count(now: number): void {
    const span = now - this.#countedTo;
    if (span <= 0) return;
    this.#countedTo = now;
    this.borrowedIntegral += this.decider.cpuPool.borrowed * span;
    this.demandIntegral += this.demand * span;
  }
}

function capacityOf({ cores, memoryMiB, userMemoryMiB }: ClusterShape): HostCapacity {
  const cpu = (1000 * cores) as Millicores;
  return {
    cpu,
    allocatableCpu: cpu,
    memory: (memoryMiB * MIB) as Bytes,
    allocatableMemory: (userMemoryMiB * MIB) as Bytes,
  };
}
