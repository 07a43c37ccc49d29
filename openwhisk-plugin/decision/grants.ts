import { type Bytes, MIB, type Millicores, type Millis } from '../../config/index.js';
import type { Claim } from './claim.js';
import type { ContainerState } from './container-state.js';
import { EPSILON, type HarvestPool } from './harvest-pool.js';
import type { ChoiceReason, Grant, Run } from './run.js';

/** What others did to a container's share while it runs. */
export type GrantChange = Extract<ChoiceReason, 'revoked' | 'lent_later'>;

/** Between the runs' decisions and the pools: limits belong to containers, and what a container holds is what its runs were granted. */
export class HostGrants {
  readonly #cpu: HarvestPool;
  readonly #memory: HarvestPool;

  constructor(cpu: HarvestPool, memory: HarvestPool) {
    this.#cpu = cpu;
    this.#memory = memory;
  }

  /** Takes `run.cpu.granted` as chosen from the pool; `step`: share of the user's CPU a container with several runs falls by. */
  takeCpu(run: Run, joined: boolean, end: number, step: number): void {
    const { container, cpu } = run;
    const claim = container.cpu;
    const wish = cpu.granted;
    if (container.mode === 'weight' || !run.enforced) {
      if (!joined) this.#cpu.begin(claim, cpu.user, cpu.user, end);
      // Nobody guards this run: nothing that was lowered for another stays, and nothing more is lent.
      else if (claim.active && claim.wanted !== claim.user) {
        for (const other of container.runs) settle(other, run.startedAt);
        this.#cpu.change(claim, claim.user, end);
        for (const other of container.runs) hold(other, other.cpu, claim, 'restored');
      }
      // What it would have got, for those who only watch.
      if (wish > cpu.user) cpu.granted = Math.min(wish, cpu.user + this.#cpu.free);
    } else {
      if (!joined) this.#cpu.begin(claim, cpu.user, wish, end);
      else {
        for (const other of container.runs) settle(other, run.startedAt);
        let least = claim.granted - step * cpu.user;
        for (const other of container.runs) {
          if (other === run) continue;
          const atUser = other.cpu.lower === cpu.user && other.cpu.upper === cpu.user;
          if (!other.enforced || other.trippedCpu || atUser) least = Math.max(least, cpu.user);
        }
        if (least > wish) cpu.choice = 'step';
        this.#cpu.change(claim, Math.max(wish, least), end);
        for (const other of container.runs) if (other !== run) hold(other, other.cpu, claim, other.cpu.choice);
      }
      if (claim.granted < wish - EPSILON && wish > cpu.user) cpu.choice = 'pool';
      hold(run, cpu, claim, cpu.choice);
    }
  }

  /** The same for memory under policy `faasrm`. */
  takeMemory(run: Run, joined: boolean, end: number): void {
    const { container, memory } = run;
    const claim = container.memory;
    const wish = memory.granted;
    if (run.fn.memoryPolicy !== 'faasrm' || !(memory.user > 0) || !claim.active) return;
    if (!run.enforced) {
      if (joined && claim.own < claim.user) this.restoreMemory(container, run.startedAt, false);
      return;
    }
    // Several activations: it only rises, and nothing is borrowed.
    this.#memory.change(claim, joined ? Math.max(claim.own, Math.min(wish, memory.user)) : wish, end);
    if (claim.granted < wish - EPSILON && wish > memory.user) memory.choice = joined ? 'step' : 'pool';
    for (const other of container.runs) if (other !== run) hold(other, other.memory, claim, other.memory.choice);
    hold(run, memory, claim, memory.choice);
  }

  /** The user's limit at once; `tripped`: by the mid-run safeguard. */
  restoreCpu(container: ContainerState, now: Millis, tripped: boolean): void {
    for (const run of container.runs) settle(run, now);
    this.#cpu.restore(container.cpu);
    for (const run of container.runs) {
      hold(run, run.cpu, container.cpu, 'restored');
      if (!tripped) continue;
      run.trippedCpu = true;
      run.fn.cpuSpiked = true;
    }
  }

  restoreMemory(container: ContainerState, now: Millis, tripped: boolean): void {
    for (const run of container.runs) settle(run, now);
    this.#memory.restore(container.memory);
    for (const run of container.runs) {
      hold(run, run.memory, container.memory, 'restored');
      if (!tripped) continue;
      run.trippedMemory = true;
      run.fn.memorySpiked = true;
    }
  }

  /** The container is back at its user's limits, by whatever hand: it holds neither less nor more. */
  userLimits(container: ContainerState, now: Millis): void {
    for (const run of container.runs) settle(run, now);
    const { cpu, memory } = container;
    this.#cpu.change(cpu, cpu.user, cpu.expectedEnd);
    if (memory.active) this.#memory.change(memory, memory.user, memory.expectedEnd);
    for (const run of container.runs) {
      if (!run.enforced) continue;
      if (container.mode === 'quota') hold(run, run.cpu, cpu, 'restored');
      if (run.fn.memoryPolicy === 'faasrm' && run.memory.user > 0) hold(run, run.memory, memory, 'restored');
    }
  }

  /**
   * Tells of containers whose share others have changed. `serve`: what is free is lent to those first that got less than they wanted.
   * CPU only: memory that a running activation has begun to use cannot be taken back without killing.
   */
  takeChanged(serve: boolean, visit: (container: ContainerState, why: GrantChange) => void): void {
    if (serve) this.#cpu.serve();
    for (let claim = this.#cpu.nextChanged(); claim !== null; claim = this.#cpu.nextChanged()) {
      const container = claim.owner;
      if (container === null) continue;
      const why = claim.granted > claim.known ? 'lent_later' : 'revoked';
      for (const run of container.runs) hold(run, run.cpu, claim, why);
      visit(container, why);
    }
    for (let claim = this.#memory.nextChanged(); claim !== null; claim = this.#memory.nextChanged()) {
      const container = claim.owner;
      if (container === null) continue;
      for (const run of container.runs) hold(run, run.memory, claim, 'revoked');
      visit(container, 'revoked');
    }
  }
}

/** Counts what a lowered limit kept free until now. The limits are the container's, so its oldest run counts for all. */
export function settle(run: Run, now: Millis): void {
  const span = now - run.countedTo;
  run.countedTo = now;
  if (!run.enforced || span <= 0 || run.container.runs[0] !== run) return;
  if (run.container.mode === 'quota' && run.cpu.reduced)
    run.harvested += ((run.cpu.user - run.cpu.granted) * span) / 1000;
  if (run.memory.reduced) run.harvestedMemory += ((run.memory.user - run.memory.granted) * span) / MIB;
}

/** Brings a run's outputs to what its container holds. */
function hold(run: Run, grant: Grant, claim: Claim, choice: Grant['choice']): void {
  // A container that is gone holds nothing; its runs are still to be finished.
  grant.granted = claim.active ? claim.granted : grant.user;
  grant.borrowed = claim.borrowed;
  grant.choice = choice;
  if (grant === run.cpu) {
    run.quota = grant.granted as Millicores;
    run.leastCpu = Math.min(run.leastCpu, grant.granted);
  } else run.memoryLimit = Math.floor(grant.granted) as Bytes;
}
