import { z } from 'zod';
import type { Action, LimitSearch } from './search.js';

/** Leaves the limit where it is: what a platform does. */
export const constantLimit: LimitSearch<null> = {
  name: 'constant',
  fingerprint: '',
  schema: () => z.null(),
  initialState: () => null,
  next: (state) => ({ state, action: 1 }),
};

export interface HillState {
  /** Down or up. */
  readonly direction: 0 | 2;
  /** Throughput before the last step; null before the first. */
  readonly before: number | null;
}

/** Perturb and observe: turns when throughput falls. It circles its optimum by a step. */
export const hillClimbing: LimitSearch<HillState> = {
  name: 'hill-climbing',
  fingerprint: '',
  schema: () =>
    z.strictObject({
      direction: z.union([z.literal(0), z.literal(2)]),
      before: z.number().min(0).nullable(),
    }),
  initialState: () => ({ direction: 2, before: null }),
  next({ direction, before }, { throughput }, { place, maskAt }) {
    const mask = maskAt(place);
    const turned = (from: 0 | 2): 0 | 2 => (from === 0 ? 2 : 0);
    let heading = before !== null && throughput < before ? turned(direction) : direction;
    if (!mask[heading]) heading = turned(heading);
    const action: Action = mask[heading] ? heading : 1;
    return { state: { direction: heading, before: throughput }, action };
  },
};
