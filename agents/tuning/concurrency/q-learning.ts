import { z } from 'zod';
import type { Random } from '../../../config/index.js';
import { gridSize } from './limits.js';
import type { Measurement } from './sample.js';
import type { Action, LimitSearch, SearchPosition } from './search.js';
import type { LimitGrid, QLearningSettings } from './settings.js';

/** Values of down, stay and up. */
export type Row = readonly [number, number, number];

/** The measured state and what was done there; the reward comes with the next measurement. */
interface Pending {
  readonly key: string;
  readonly action: Action;
  /** Place that the action leads to: what is measured elsewhere was not its doing. */
  readonly place: number;
}

export interface QLearningState {
  /** Actions chosen so far. */
  readonly iteration: number;
  /** Best throughput so far, activations a second; null before the first measurement. */
  readonly reference: number | null;
  readonly pending: Pending | null;
  /** By `place.cpuBin.memoryBin`; a state never acted in has no row and is worth 0. */
  readonly table: Readonly<Record<string, Row>>;
  /** By place, the newest result of its limit; empty without replay. */
  readonly known: Readonly<Record<string, Known>>;
}

interface Known {
  /** Activations a second, newer measurements weighing more. */
  readonly throughput: number;
  /** The state last seen there. */
  readonly key: string;
}

const UNKNOWN: Row = [0, 0, 0];

/** Bin of a share: equal bins on [0, 1], what lies above is in the last one. */
const binOf = (share: number, bins: number): number =>
  Math.max(0, Math.min(bins - 1, Math.floor(share * bins)));

/** Points keep the numbers apart: (1, 11, 1) and (11, 1, 1) are two states. */
export const stateKey = (place: number, { cpu, memory }: Measurement, bins: number): string =>
  `${place}.${binOf(cpu, bins)}.${binOf(memory, bins)}`;

/** Throughput / best so far, or 1 within the tolerance; above 1 only for a new best. */
export function throughputReward(
  throughput: number,
  reference: number | null,
  tolerance: number,
): number {
  // Nothing can be a share of no success at all.
  if (reference === null || reference === 0) return 1;
  const ratio = throughput / reference;
  return ratio <= 1 - tolerance || ratio >= 1 + tolerance ? ratio : 1;
}

/** Chance of a random action at an iteration, the first being 0. */
export const epsilonAt = (
  { until, factor, floor }: QLearningSettings['epsilon'],
  iteration: number,
): number => Math.max(floor, iteration <= until ? 1 : factor ** (iteration - until));

const permitted = (mask: readonly boolean[]): Action[] =>
  ([0, 1, 2] as const).filter((action) => mask[action]);

/** The best permitted action; of several equally good ones a random one. */
export function greedyAction(row: Row, mask: readonly boolean[], random: Random): Action {
  const actions = permitted(mask);
  const best = Math.max(...actions.map((action) => row[action]));
  const equals = actions.filter((action) => row[action] === best);
  return equals[random.below(equals.length)]!;
}

const rowSchema = z.tuple([z.number(), z.number(), z.number()]);

function stateSchema(grid: LimitGrid, bins: number): z.ZodType<QLearningState> {
  const key = z.string().refine((text) => {
    const parts = /^(\d{1,4})\.(\d{1,2})\.(\d{1,2})$/.exec(text)?.slice(1).map(Number);
    return (
      parts !== undefined && parts[0]! < gridSize(grid) && parts[1]! < bins && parts[2]! < bins
    );
  }, 'no state of this grid and these bins');
  return z.strictObject({
    iteration: z.int().min(0),
    reference: z.number().min(0).nullable(),
    pending: z
      .strictObject({
        key,
        action: z.union([z.literal(0), z.literal(1), z.literal(2)]),
        place: z
          .int()
          .min(0)
          .max(gridSize(grid) - 1),
      })
      .nullable(),
    table: z.record(key, rowSchema),
    known: z.record(
      z
        .string()
        .refine(
          (text) => /^\d{1,4}$/.test(text) && Number(text) < gridSize(grid),
          'no place of this grid',
        ),
      z.strictObject({ throughput: z.number().min(0), key }),
    ),
  });
}

type Table = Readonly<Record<string, Row>>;

const replaced = (row: Row, action: Action, value: number): Row => {
  const changed: [number, number, number] = [...row];
  changed[action] = value;
  return changed;
};

/**
 * Q-learning of a concurrency limit [Schuler]: a table over (limit, CPU bin, memory bin), rewarded
 * by throughput relative to the best so far. With `replay` (Dyna-Q, Sutton 1990) each iteration
 * repeats the update for all known transitions, which corrects rewards relative to an old
 * reference. Figures: docs/results/concurrency.md.
 */
export function qLearning(settings: QLearningSettings): LimitSearch<QLearningState> {
  const { alpha, gamma, bins, tolerance, replay } = settings;

  const best = (table: Table, key: string, mask: readonly boolean[]): number => {
    const row = table[key] ?? UNKNOWN;
    return Math.max(...permitted(mask).map((action) => row[action]));
  };
  const learned = (old: number, reward: number, future: number): number =>
    (1 - alpha) * old + alpha * (reward + gamma * future);

  /** One update of every row and every action whose limit is known. */
  function replayed(
    { table, known, reference }: QLearningState,
    { grid, maskAt }: SearchPosition,
  ): Table {
    const rows: Record<string, Row> = { ...table };
    for (const [key, row] of Object.entries(rows)) {
      let next = row;
      for (const action of [0, 1, 2] as const) {
        const place = Number.parseInt(key, 10) + action - 1;
        const there = place >= 0 && place < gridSize(grid) ? known[place] : undefined;
        if (there === undefined) continue;
        const reward = throughputReward(there.throughput, reference, tolerance);
        next = replaced(
          next,
          action,
          learned(next[action], reward, best(rows, there.key, maskAt(place))),
        );
      }
      rows[key] = next;
    }
    return rows;
  }

  return {
    name: replay ? 'q-learning' : 'q-published',
    fingerprint: `bins ${bins}`,
    schema: (grid) => stateSchema(grid, bins),
    initialState: () => ({ iteration: 0, reference: null, pending: null, table: {}, known: {} }),
    next(state, measurement, position, random) {
      const { throughput } = measurement;
      const { place, maskAt } = position;
      const { iteration, reference, pending } = state;
      const mask = maskAt(place);
      const key = stateKey(place, measurement, bins);
      let { table, known } = state;
      if (replay) {
        const before = known[place]?.throughput ?? throughput;
        known = {
          ...known,
          [place]: { throughput: (1 - alpha) * before + alpha * throughput, key },
        };
        table = replayed(
          { ...state, known, table: { ...table, [key]: table[key] ?? UNKNOWN } },
          position,
        );
      } else if (pending !== null && pending.place === place) {
        const row = table[pending.key] ?? UNKNOWN;
        const reward = throughputReward(throughput, reference, tolerance);
        const value = learned(row[pending.action], reward, best(table, key, mask));
        table = { ...table, [pending.key]: replaced(row, pending.action, value) };
      }
      const explores = random.next() < epsilonAt(settings.epsilon, iteration);
      const actions = permitted(mask);
      const action = explores
        ? actions[random.below(actions.length)]!
        : greedyAction(table[key] ?? UNKNOWN, mask, random);
      return {
        action,
        state: {
          iteration: iteration + 1,
          reference: Math.max(reference ?? 0, throughput),
          pending: { key, action, place: place + action - 1 },
          table,
          known,
        },
      };
    },
  };
}
