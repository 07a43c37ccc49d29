import type { LimitGrid, LimitRange } from './settings.js';

export const gridSize = ({ least, most, step }: LimitGrid): number => (most - least) / step + 1;

/** The limit at a place of the grid, 0 the lowest. */
export const limitAt = ({ least, step }: LimitGrid, place: number): number => least + place * step;

export const isAllowed = (limit: number, { least, most }: LimitRange): boolean =>
  limit >= least && limit <= most;

/** The nearest allowed limit's place, the lower of equals; null: none is allowed. */
export function nearestPlace(grid: LimitGrid, allowed: LimitRange, limit: number): number | null {
  let best: number | null = null;
  for (let place = 0; place < gridSize(grid); place++) {
    const candidate = limitAt(grid, place);
    if (!isAllowed(candidate, allowed)) continue;
    if (best === null || Math.abs(candidate - limit) < Math.abs(limitAt(grid, best) - limit))
      best = place;
  }
  return best;
}

/** Which of {@link STEPS} may be taken from a place. Staying always may. */
export function stepMask(
  grid: LimitGrid,
  allowed: LimitRange,
  place: number,
): readonly [boolean, boolean, boolean] {
  const may = (to: number): boolean =>
    to >= 0 && to < gridSize(grid) && isAllowed(limitAt(grid, to), allowed);
  return [may(place - 1), true, may(place + 1)];
}
