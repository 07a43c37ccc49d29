import { metaReward } from '../../agents/aware/index.js';
import { type AwareAllocation, RANGES } from './allocation.js';
import { demandOf } from './demand.js';
import { AwareSystem } from './system.js';
import { appsOf } from './training-thread.js';

/** Applications and steps that each allocation of the grid is tried on. */
const APPLICATIONS = 40;
const STEPS = 40;

const grid = ({ least, most }: { least: number; most: number }, points: number): number[] =>
  Array.from({ length: points }, (_, i) => least + (i * (most - least)) / (points - 1));

let best: AwareAllocation | undefined;

/** The one allocation that earns most on applications of the training part. */
export function bestConstant(): AwareAllocation {
  if (best !== undefined) return best;
  const demands = appsOf('train')
    .slice(0, APPLICATIONS)
    .map((app) => demandOf(app));
  const earned = (allocation: AwareAllocation): number =>
    demands.reduce((sum, demand) => {
      const system = new AwareSystem(demand, demand.id);
      for (let step = 0; step < STEPS; step++) sum += metaReward(system.step(allocation));
      return sum;
    }, 0);
  let most = Number.NEGATIVE_INFINITY;
  for (const cpu of grid(RANGES.cpu, 8))
    for (const memory of [128, 192, 256, 384, 512])
      for (const containers of grid(RANGES.containers, 20)) {
        const allocation = { cpu, memory, containers };
        const value = earned(allocation);
        if (value <= most) continue;
        most = value;
        best = allocation;
      }
  return best!;
}
