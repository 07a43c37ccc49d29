import { Doubles } from '../../config/index.js';
import type { Run } from '../decision/index.js';

/** Sums of fractions drift: below this nothing is asked for, millicores and bytes. */
const NOTHING = 1e-6;

/** What a container asks for now: nothing while it is idle. Millicores and bytes. */
export class ContainerDemand {
  cpu = 0;
  memory = 0;
}

const Place = { cpu: 0, cpuSum: 1, memory: 2, memorySum: 3, at: 4, since: 5 } as const;
const SIZE = 6;

/**
 * What containers ask for, averaged over time: the sum of requested limit x time running, divided
 * by the interval. One for each function on a host, and one for the host.
 */
export class Demand {
  /** One array for both, as they change together: each activation reads those of its function. */
  readonly #numbers = new Doubles(SIZE).values;

  constructor() {
    this.#numbers[Place.at] = Number.NaN;
    this.#numbers[Place.since] = Number.NaN;
  }

  /** The first call begins the first interval. `now`: monotonic ms, here and in `take`. */
  add(cpu: number, memory: number, now: number): void {
    this.#advance(now);
    const numbers = this.#numbers;
    numbers[Place.cpu] = positive(numbers[Place.cpu]! + cpu);
    numbers[Place.memory] = positive(numbers[Place.memory]! + memory);
  }

  /** The means since the last call; within the same instant what is asked for now. */
  take(now: number): { cpu: number; memory: number } {
    this.#advance(now);
    const numbers = this.#numbers;
    const span = now - numbers[Place.since]!;
    const cpu = span > 0 ? numbers[Place.cpuSum]! / span : numbers[Place.cpu]!;
    const memory = span > 0 ? numbers[Place.memorySum]! / span : numbers[Place.memory]!;
    numbers[Place.cpuSum] = 0;
    numbers[Place.memorySum] = 0;
    numbers[Place.since] = now;
    return { cpu, memory };
  }

  #advance(now: number): void {
    const numbers = this.#numbers;
    const at = numbers[Place.at]!;
    if (Number.isNaN(at)) numbers[Place.since] = now;
    else {
      const span = Math.max(0, now - at);
      numbers[Place.cpuSum] = numbers[Place.cpuSum]! + numbers[Place.cpu]! * span;
      numbers[Place.memorySum] = numbers[Place.memorySum]! + numbers[Place.memory]! * span;
    }
    numbers[Place.at] = now;
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
