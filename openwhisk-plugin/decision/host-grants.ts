import { type Bytes, MIB, type Millicores, type Millis } from '../../config/index.js';
import type { Allocation } from './allocation.js';
import type { ContainerState, Run } from './container-state.js';
import type { ChoiceReason, Grant } from './grant.js';
import { EPSILON, type HarvestPool } from './harvest-pool.js';

/** How another activation changed the share of a running container. */
export type GrantChange = Extract<ChoiceReason, 'revoked' | 'lent_later'>;

type Pool = HarvestPool<ContainerState>;
type Resource = 'cpu' | 'memory';

/** Between the runs' decisions and the pools, in which containers hold shares. */
export class HostGrants {
  readonly #cpu: Pool;
  readonly #memory: Pool;

  constructor(cpu: Pool, memory: Pool) {
    this.#cpu = cpu;
    this.#memory = memory;
  }

  /** `step`: share of the user's CPU by which a container with several runs falls. */
  takeCpu(run: Run, joined: boolean, end: number, step: number): void {
    const { container, cpu } = run;
    const allocation = container.cpu;
    const requested = cpu.granted;
    if (container.mode === 'weight' || !run.enforced) {
      if (!joined) this.#cpu.begin(allocation, cpu.user, cpu.user, end);
      // The safeguard does not watch this run: restore what was lowered for another, and lend no
      // more.
      else if (allocation.active && allocation.demand !== allocation.user) {
        for (const other of container.runs) settle(other, run.startedAt);
        this.#cpu.change(allocation, allocation.user, end);
        for (const other of container.runs) hold(other, other.cpu, allocation, 'restored');
      }
      // What it would have been granted, for modes that only watch.
      if (requested > cpu.user) cpu.granted = Math.min(requested, cpu.user + this.#cpu.free);
    } else {
      if (!joined) this.#cpu.begin(allocation, cpu.user, requested, end);
      else {
        for (const other of container.runs) settle(other, run.startedAt);
        let least = allocation.granted - step * cpu.user;
        for (const other of container.runs) {
          if (other === run) continue;
          const atUser = other.cpu.lower === cpu.user && other.cpu.upper === cpu.user;
          if (!other.enforced || other.trippedCpu || atUser) least = Math.max(least, cpu.user);
        }
        if (least > requested) cpu.choice = 'step';
        this.#cpu.change(allocation, Math.max(requested, least), end);
        for (const other of container.runs)
          if (other !== run) hold(other, other.cpu, allocation, other.cpu.choice);
      }
      if (allocation.granted < requested - EPSILON && requested > cpu.user) cpu.choice = 'pool';
      hold(run, cpu, allocation, cpu.choice);
    }
  }

  /** The same for memory under policy `faasrm`. */
  takeMemory(run: Run, joined: boolean, end: number): void {
    const { container, memory } = run;
    const allocation = container.memory;
    const requested = memory.granted;
    if (run.fn.memoryPolicy !== 'faasrm' || !(memory.user > 0) || !allocation.active) return;
    if (!run.enforced) {
      if (joined && allocation.own < allocation.user)
        this.restoreMemory(container, run.startedAt, false);
      return;
    }
    // Several activations: it only rises, and nothing is borrowed.
    this.#memory.change(
      allocation,
      joined ? Math.max(allocation.own, Math.min(requested, memory.user)) : requested,
      end,
    );
    if (allocation.granted < requested - EPSILON && requested > memory.user)
      memory.choice = joined ? 'step' : 'pool';
    for (const other of container.runs)
      if (other !== run) hold(other, other.memory, allocation, other.memory.choice);
    hold(run, memory, allocation, memory.choice);
  }

  /** The user's limit at once; `tripped`: by the mid-run safeguard. */
  restoreCpu(container: ContainerState, now: Millis, tripped: boolean): void {
    this.#restore(this.#cpu, 'cpu', container, now);
    if (!tripped) return;
    for (const run of container.runs) {
      run.trippedCpu = true;
      run.fn.cpuSpiked = true;
    }
  }

  restoreMemory(container: ContainerState, now: Millis, tripped: boolean): void {
    this.#restore(this.#memory, 'memory', container, now);
    if (!tripped) return;
    for (const run of container.runs) {
      run.trippedMemory = true;
      run.fn.memorySpiked = true;
    }
  }

  #restore(pool: Pool, resource: Resource, container: ContainerState, now: Millis): void {
    for (const run of container.runs) settle(run, now);
    pool.restore(container[resource]);
    for (const run of container.runs) hold(run, run[resource], container[resource], 'restored');
  }

  /** The container is back at its user's limits: it holds neither less nor more. */
  userLimits(container: ContainerState, now: Millis): void {
    for (const run of container.runs) settle(run, now);
    const { cpu, memory } = container;
    this.#cpu.change(cpu, cpu.user, cpu.expectedEnd);
    if (memory.active) this.#memory.change(memory, memory.user, memory.expectedEnd);
    for (const run of container.runs) {
      if (!run.enforced) continue;
      if (container.mode === 'quota') hold(run, run.cpu, cpu, 'restored');
      if (run.fn.memoryPolicy === 'faasrm' && run.memory.user > 0)
        hold(run, run.memory, memory, 'restored');
    }
  }

  /**
   * Visits containers whose share has changed. Free CPU only is lent during a run: memory in use
   * cannot be taken back without an OOM kill.
   */
  takeChanged(
    lendFree: boolean,
    visit: (container: ContainerState, why: GrantChange) => void,
  ): void {
    if (lendFree) this.#cpu.lendFree();
    this.#visitChanged(this.#cpu, 'cpu', visit);
    this.#visitChanged(this.#memory, 'memory', visit);
  }

  #visitChanged(
    pool: Pool,
    resource: Resource,
    visit: (container: ContainerState, why: GrantChange) => void,
  ): void {
    for (let changed = pool.nextChanged(); changed !== null; changed = pool.nextChanged()) {
      const container = changed.owner;
      if (container === null) continue;
      const why = changed.granted > changed.known ? 'lent_later' : 'revoked';
      for (const run of container.runs) hold(run, run[resource], changed, why);
      visit(container, why);
    }
  }
}

/**
 * Counts what a lowered limit kept free until now. The limits are the container's, so its oldest
 * run counts for all.
 */
export function settle(run: Run, now: Millis): void {
  const span = now - run.countedTo;
  run.countedTo = now;
  if (!run.enforced || span <= 0 || run.container.runs[0] !== run) return;
  if (run.container.mode === 'quota' && run.cpu.reduced)
    run.harvested += ((run.cpu.user - run.cpu.granted) * span) / 1000;
  if (run.memory.reduced)
    run.harvestedMemory += ((run.memory.user - run.memory.granted) * span) / MIB;
}

/** Brings a run's outputs to what its container holds. */
function hold(run: Run, grant: Grant, allocation: Allocation, choice: Grant['choice']): void {
  // A container that is gone holds nothing; its runs are still to be finished.
  grant.granted = allocation.active ? allocation.granted : grant.user;
  grant.borrowed = allocation.borrowed;
  grant.choice = choice;
  if (grant === run.cpu) {
    run.quota = grant.granted as Millicores;
    run.minCpuLimit = Math.min(run.minCpuLimit, grant.granted);
  } else run.memoryLimit = Math.floor(grant.granted) as Bytes;
}
