import {
  type ObservedFunction,
  type ObservedRevision,
  Step,
} from '../../openwhisk-plugin/daemon/index.js';
import type {
  ContainerState,
  CpuMode,
  FunctionState,
  Run,
} from '../../openwhisk-plugin/decision/index.js';

/**
 * The wish of a function's agent, as a hook holds it. NaN: no wish. Times in ms of simulated time.
 */
class TimedTarget {
  cpu = Number.NaN;
  memory = Number.NaN;
  weightFactor = Number.NaN;
  from = Number.POSITIVE_INFINITY;
  until = Number.NEGATIVE_INFINITY;
}

/**
 * A function on one host, as the hook there knows it: its history, its present control step, and
 * what its agent wishes.
 */
export class FunctionOnHost implements ObservedFunction, ObservedRevision {
  readonly fn: number;
  readonly host: number;
  readonly action: string;
  readonly mode = 'enforce';
  readonly step = new Step();
  /** Of the newest revision. */
  state: FunctionState;
  cpuMode: CpuMode = 'weight';
  userCpu = 0;
  running = 0;
  containers = 0;
  concurrent = false;
  /** The newest decision: millicores and bytes. */
  demandCpu = 0;
  demandMemory = 0;
  lastSeen = 0;
  #target = new TimedTarget();
  #nextTarget = new TimedTarget();

  constructor(fn: number, host: number, state: FunctionState) {
    this.fn = fn;
    this.host = host;
    this.action = state.action;
    this.state = state;
  }

  /** In force from `from` on, and stale after `until`. */
  target(cpu: number, memory: number, weightFactor: number, from: number, until: number): void {
    this.#activateNextTarget(from);
    const nextTarget = this.#nextTarget;
    nextTarget.cpu = cpu;
    nextTarget.memory = memory;
    nextTarget.weightFactor = weightFactor;
    nextTarget.from = from;
    nextTarget.until = until;
  }

  /** Writes the wish into a run that starts, where there is one and it is fresh. */
  applyTarget(run: Run, container: ContainerState, now: number): void {
    this.#activateNextTarget(now);
    const target = this.#target;
    if (now > target.until) return;
    const byWeight = container.mode === 'weight' && !Number.isNaN(target.weightFactor);
    run.targetCpu = (
      byWeight ? target.weightFactor * container.userCpu : target.cpu
    ) as typeof run.targetCpu;
    run.targetMemory = target.memory as typeof run.targetMemory;
  }

  #activateNextTarget(now: number): void {
    if (this.#nextTarget.from > now) return;
    const before = this.#target;
    this.#target = this.#nextTarget;
    this.#nextTarget = before;
    before.from = Number.POSITIVE_INFINITY;
  }
}
