import type { ContainerState, CpuMode, FunctionState, Run } from '../../openwhisk-plugin/index.js';
import { type ObservedFunction, type ObservedRevision, Step } from '../../openwhisk-plugin/index.js';

/** The wish of a function's agent, as a hook holds it. NaN: no wish. Times in ms of simulated time. */
class Wish {
  cpu = Number.NaN;
  memory = Number.NaN;
  weightFactor = Number.NaN;
  from = Number.POSITIVE_INFINITY;
  until = Number.NEGATIVE_INFINITY;
}

/** A function on one host, as the hook there knows it: its history, its present control step, and what its agent wishes. */
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
  wantedCpu = 0;
  wantedMemory = 0;
  lastSeen = 0;
  #wish = new Wish();
  #coming = new Wish();

  constructor(fn: number, host: number, state: FunctionState) {
    this.fn = fn;
    this.host = host;
    this.action = state.action;
    this.state = state;
  }

  /** In force from `from` on, and stale after `until`. */
  wish(cpu: number, memory: number, weightFactor: number, from: number, until: number): void {
    this.#takeOver(from);
    const coming = this.#coming;
    coming.cpu = cpu;
    coming.memory = memory;
    coming.weightFactor = weightFactor;
    coming.from = from;
    coming.until = until;
  }

  /** Writes the wish into a run that starts, where there is one and it is fresh. */
  aim(run: Run, container: ContainerState, now: number): void {
    this.#takeOver(now);
    const wish = this.#wish;
    if (now > wish.until) return;
    const byWeight = container.mode === 'weight' && !Number.isNaN(wish.weightFactor);
    run.targetCpu = (byWeight ? wish.weightFactor * container.userCpu : wish.cpu) as typeof run.targetCpu;
    run.targetMemory = wish.memory as typeof run.targetMemory;
  }

  #takeOver(now: number): void {
    if (this.#coming.from > now) return;
    const before = this.#wish;
    this.#wish = this.#coming;
    this.#coming = before;
    before.from = Number.POSITIVE_INFINITY;
  }
}
