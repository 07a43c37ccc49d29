import type { z } from 'zod';
import type { Random } from '../../../config/index.js';
import type { Measurement } from './sample.js';
import type { LimitGrid } from './settings.js';

/** Where a search stands, and where it may go. */
export interface SearchPosition {
  readonly grid: LimitGrid;
  /** Place of the limit that was measured, 0 the lowest of the grid. */
  readonly place: number;
  /** Which of down, stay, up may be taken at a place. */
  maskAt(place: number): readonly [boolean, boolean, boolean];
}

/** 0 down, 1 stay, 2 up: the places of `STEPS`. */
export type Action = 0 | 1 | 2;

/** Measured throughput in, next step out. Pure except for `random`; its state is plain JSON. */
export interface LimitSearch<State = unknown> {
  readonly name: string;
  /** Settings that what was learned depends on, as text. */
  readonly fingerprint: string;
  /** Schema of a kept state. `grid` bounds what it may hold. */
  schema(grid: LimitGrid): z.ZodType<State>;
  initialState(): State;
  next(
    state: State,
    measurement: Measurement,
    position: SearchPosition,
    random: Random,
  ): { readonly state: State; readonly action: Action };
}
