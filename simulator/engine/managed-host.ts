import { type Bytes, MIB, type Millicores, type Millis, type Random } from '../../config/index.js';
import {
  type FunctionDirectory,
  HostController,
  isActive,
  type LimitPort,
  type ReportPort,
  Revision,
  type UsagePort,
} from '../../openwhisk-plugin/control/index.js';
import {
  Decider,
  type DecisionSettings,
  type HostCapacity,
  type Oracle,
  type Policies,
  type UserLimits,
} from '../../openwhisk-plugin/decision/index.js';
import type { EngineContainer, FunctionOnHost } from './managed-container.js';
import type { ClusterShape } from './options.js';
import { TargetsInFlight } from './targets-in-flight.js';

export interface EnginePorts {
  readonly limits: LimitPort<EngineContainer>;
  readonly usage: UsagePort<EngineContainer>;
  readonly reports: ReportPort<EngineContainer>;
}

/** One simulated host with its controller. Time in ms, CPU in millicores. */
export class ManagedHost implements FunctionDirectory {
  readonly decider: Decider;
  readonly controller: HostController<EngineContainer>;
  readonly targets = new TargetsInFlight();
  /** Activations, and what they ask for. */
  running = 0;
  demand = 0;
  /** Millicore-ms since the start. */
  borrowedIntegral = 0;
  demandIntegral = 0;
  readonly #byAction = new Map<string, FunctionOnHost>();
  /** Those that may be active: a host knows tens of times more. */
  #recent: FunctionOnHost[] = [];
  #countedTo = 0;

  constructor(
    settings: DecisionSettings,
    shape: ClusterShape,
    policies: Policies,
    random: Random,
    oracle: Oracle,
    ports: EnginePorts,
  ) {
    this.decider = new Decider(settings, capacityOf(shape), policies, random);
    this.decider.oracle = oracle;
    // Memory beyond the containers is known here and never changes.
    this.decider.headroom.update((shape.systemMemoryMiB * MIB) as Bytes, 0 as Bytes);
    this.controller = new HostController(this.decider, { functions: this, ...ports });
  }

  add(record: FunctionOnHost): void {
    this.#byAction.set(record.action, record);
  }

  /** A container or an activation of the function starts. */
  started(record: FunctionOnHost): void {
    if (record.isRecent) return;
    record.isRecent = true;
    this.#recent.push(record);
  }

  activeFunctions(now: number): readonly FunctionOnHost[] {
    this.#recent = this.#recent.filter((record) => {
      record.isRecent = isActive(record, now);
      return record.isRecent;
    });
    return this.#recent;
  }

  revision(action: string, version: string, user: UserLimits, now: Millis): Revision | null {
    const record = this.#byAction.get(action);
    if (record === undefined) return null;
    const state = this.decider.functionState(action, version, user, now);
    if (record.revision?.state === state) return record.revision;
    record.revision = new Revision(record, version, state);
    return record.revision;
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
