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

function addContribution(sums: Sums, one: Contribution): void {
  sums.members++;
  for (let i = 0; i < one.state.length; i++) {
    const value = one.state[i]!;
    sums.state[i] = at(sums.state, i) + value;
    sums.squares[i] = at(sums.squares, i) + value * value;
  }
  for (let i = 0; i < one.actions.length; i++)
    sums.actions[i] = at(sums.actions, i) + one.actions[i]!;
  addAmounts(sums, one.allocated, one.demand);
  if (one.lateness !== undefined) addLateness(sums, one.lateness.objective, one.lateness);
}

export function addSums(total: Sums, part: Sums): void {
  total.members += part.members;
  for (let i = 0; i < part.state.length; i++) {
    total.state[i] = at(total.state, i) + part.state[i]!;
    total.squares[i] = at(total.squares, i) + part.squares[i]!;
  }
  for (let i = 0; i < part.actions.length; i++)
    total.actions[i] = at(total.actions, i) + part.actions[i]!;
  addAmounts(total, part.allocated, part.demand);
  if (part.lateness === undefined) return;
  addLateness(total, 'urgent', part.lateness.urgent);
  addLateness(total, 'patient', part.lateness.patient);
}

function addAmounts(
  total: Sums,
  allocated: Contribution['allocated'],
  demand: Contribution['demand'],
): void {
  total.allocated.cpu = (total.allocated.cpu + allocated.cpu) as Millicores;
  total.allocated.memory = (total.allocated.memory + allocated.memory) as Bytes;
  total.allocated.containers += allocated.containers;
  total.demand.cpu = (total.demand.cpu + demand.cpu) as Millicores;
  total.demand.memory = (total.demand.memory + demand.memory) as Bytes;
}

export function sumOf(contributions: Iterable<Contribution>): Sums {
  const sums = emptySums();
  for (const one of contributions) addContribution(sums, one);
  return sums;
}
