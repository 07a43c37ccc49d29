import { type ActivationColumns, type Activations, Phase as PHASE } from './activations.js';
import type { Containers } from './containers.js';
import type { Cores } from './cores.js';
import { Fn as FN, type FunctionRows } from './function-rows.js';
import type { LimitController } from './limit-controller.js';
import type { Limits } from './limits.js';
import { StartKind as START_KIND } from './recorder.js';

const Fn = FN;
const Phase = PHASE;
const StartKind = START_KIND;

/**
 * The phases of an activation that has a container: `/init`, the run before and after the I/O wait.
 */
export class Phases {
  limitController: LimitController | null = null;
  declare private readonly c: ActivationColumns;
  declare private readonly containers: Containers;
  declare private readonly functions: FunctionRows;
  declare private readonly cores: Cores;
  declare private readonly limits: Limits;

  constructor(
    activations: Activations,
    containers: Containers,
    functions: FunctionRows,
    cores: Cores,
    limits: Limits,
  ) {
    this.c = activations.columns;
    this.containers = containers;
    this.functions = functions;
    this.cores = cores;
    this.limits = limits;
  }

  startInit(a: number, now: number): void {
    const c = this.c;
    const fn = c.fn[a]!;
    const container = c.container[a]!;
    this.containers.columns.epoch[container] = now;
    this.limitController?.containerStarted(container, now);
    c.tapAt[a] = now;
    c.throttled[a] = 0;
    c.waited[a] = 0;
    c.deadline[a] = now + this.functions.get(fn, Fn.timeout);
    // The runtime is one process that starts: one core, whatever the function can use later.
    this.#join(a, Phase.init, this.functions.get(fn, Fn.init), 1, now);
  }

  startRun(a: number, now: number): void {
    const c = this.c;
    const fn = c.fn[a]!;
    if (c.start[a] === StartKind.warm) c.tapAt[a] = now;
    c.runAt[a] = now;
    c.deadline[a] = now + this.functions.get(fn, Fn.timeout);
    c.work[a] = c.cpu[a]!;
    c.done[a] = 0;
    c.throttled[a] = 0;
    c.waited[a] = 0;
    c.tripRate[a] = Number.POSITIVE_INFINITY;
    c.reviseAt[a] = Number.POSITIVE_INFINITY;
    this.limitController?.runStarted(a, now);
    this.#join(a, Phase.before, c.cpu[a]!, this.functions.get(fn, Fn.parallelism), now);
  }

  #join(a: number, phase: number, work: number, cap: number, now: number): void {
    const c = this.c;
    c.phase[a] = phase;
    c.work[a] = work;
    c.done[a] = 0;
    c.cap[a] = cap;
    this.limits.enter(a, now);
    this.limits.aim(a);
    this.cores.join(a, now);
  }

  /** The I/O wait is over. */
  resume(a: number, now: number): void {
    const c = this.c;
    this.limitController?.rateChanges(a, now);
    c.phase[a] = Phase.after;
    this.limits.enter(a, now);
    this.limits.aim(a);
    this.cores.join(a, now);
  }

  offCpu(a: number, now: number): void {
    this.cores.leave(a, now);
    this.limits.leave(a);
  }
}
