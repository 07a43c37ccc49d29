import { Doubles } from '../../config/index.js';
import type { Run } from '../decision/index.js';
import { MeanLevel } from './mean-level.js';

/** Sums of fractions drift: below this nothing is asked for, millicores and bytes. */
const NOTHING = 1e-6;

/** What a container asks for now: nothing while it is idle. Millicores and bytes. */
export class ContainerDemand {
  cpu = 0;
  memory = 0;
}

/**
 * What containers ask for, averaged over time: the sum of requested limit x time running, divided
 * by the interval. One for each function on a host, and one for the host.
 */
export class Demand {
  readonly cpu: MeanLevel;
  readonly memory: MeanLevel;

  constructor() {
    const doubles = new Doubles(2 * MeanLevel.SIZE);
    this.cpu = new MeanLevel(doubles);
    this.memory = new MeanLevel(doubles);
  }

  add(cpu: number, memory: number, now: number): void {
    this.cpu.set(positive(this.cpu.level + cpu), now);
    this.memory.set(positive(this.memory.level + memory), now);
  }
}

const positive = (value: number): number => (value > NOTHING ? value : 0);

/**
 * Brings a container's demand up to its running activations and adds the change to the sums. Limits
 * are the container's, so that it asks once for all of them, for the largest.
 */
export function updateDemand(
  of: ContainerDemand,
  runs: readonly Run[],
  ofFunction: Demand,
  ofHost: Demand,
  now: number,
): void {
  let cpu = 0;
  let memory = 0;
  for (let i = 0; i < runs.length; i++) {
    const run = runs[i]!;
    cpu = larger(cpu, run.cpu.demand);
    memory = larger(memory, run.memory.demand);
  }
  ofFunction.add(cpu - of.cpu, memory - of.memory, now);
  ofHost.add(cpu - of.cpu, memory - of.memory, now);
  of.cpu = cpu;
  of.memory = memory;
}

const larger = (most: number, value: number): number =>
  value > most && Number.isFinite(value) ? value : most;
