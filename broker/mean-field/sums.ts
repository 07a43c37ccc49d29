import type { Bytes, Millicores } from '../../config/index.js';
import type { LatenessSums, Sums } from '../messages/index.js';

/** One agent's part of the sums, kept by its host so that it can be subtracted later. */
export interface Contribution {
  readonly state: readonly number[];
  /** Steps: containers, CPU, memory. */
  readonly actions: readonly number[];
  /** Limits × containers, and the number of containers. */
  readonly allocated: Readonly<Sums['allocated']>;
  readonly demand: Readonly<Sums['demand']>;
  /** Absent: the function has no objective yet. */
  readonly lateness?: FunctionLateness;
}

export interface FunctionLateness extends Readonly<LatenessSums> {
  readonly objective: keyof NonNullable<Sums['lateness']>;
}

const noLateness = (): LatenessSums => ({ running: 0, atStake: 0, late: 0 });

function addLateness(sums: Sums, to: FunctionLateness['objective'], part: LatenessSums): void {
  sums.lateness ??= { urgent: noLateness(), patient: noLateness() };
  const total = sums.lateness[to];
  total.running += part.running;
  total.atStake += part.atStake;
  total.late += part.late;
}

export const emptySums = (): Sums => ({
  members: 0,
  state: [],
  squares: [],
  actions: [],
  allocated: { cpu: 0 as Millicores, memory: 0 as Bytes, containers: 0 },
  demand: { cpu: 0 as Millicores, memory: 0 as Bytes },
});

const at = (values: readonly number[], index: number): number => values[index] ?? 0;

export function addSums(total: Sums, part: Sums): void {
  total.members += part.members;
  for (let i = 0; i < part.state.length; i++) {
    total.state[i] = at(total.state, i) + part.state[i]!;
    total.squares[i] = at(total.squares, i) + part.squares[i]!;
  }
  for (let i = 0; i < part.actions.length; i++)
    total.actions[i] = at(total.actions, i) + part.actions[i]!;
  const { allocated, demand } = part;
  total.allocated.cpu = (total.allocated.cpu + allocated.cpu) as Millicores;
  total.allocated.memory = (total.allocated.memory + allocated.memory) as Bytes;
  total.allocated.containers += allocated.containers;
  total.demand.cpu = (total.demand.cpu + demand.cpu) as Millicores;
  total.demand.memory = (total.demand.memory + demand.memory) as Bytes;
  if (part.lateness === undefined) return;
  addLateness(total, 'urgent', part.lateness.urgent);
  addLateness(total, 'patient', part.lateness.patient);
}

/** Thousands of contributions at each step: amounts are summed in variables. */
export function sumOf(contributions: ReadonlyMap<string, Contribution>): Sums {
  const sums = emptySums();
  const { state: states, squares, actions: steps } = sums;
  let cpu = 0;
  let memory = 0;
  let containers = 0;
  let demandCpu = 0;
  let demandMemory = 0;
  // An iterator would allocate an object for each of them.
  const all = [...contributions.values()];
  for (let one = 0; one < all.length; one++) {
    const { state, actions, allocated, demand, lateness } = all[one]!;
    for (let i = 0; i < state.length; i++) {
      const value = state[i]!;
      states[i] = at(states, i) + value;
      squares[i] = at(squares, i) + value * value;
    }
    for (let i = 0; i < actions.length; i++) steps[i] = at(steps, i) + actions[i]!;
    cpu += allocated.cpu;
    memory += allocated.memory;
    containers += allocated.containers;
    demandCpu += demand.cpu;
    demandMemory += demand.memory;
    if (lateness !== undefined) addLateness(sums, lateness.objective, lateness);
  }
  sums.members = contributions.size;
  sums.allocated = { cpu: cpu as Millicores, memory: memory as Bytes, containers };
  sums.demand = { cpu: demandCpu as Millicores, memory: demandMemory as Bytes };
  return sums;
}
