import { z } from 'zod';
import { messageOf } from '../../../config/index.js';
import { LifeCycleDamagedError, LifeCycleForeignError, LifeCycleNewerError } from './errors.js';
import type { GuardState } from './guard.js';
import { type LifeCycleState, PHASES } from './life-cycle.js';
import type { LifeCycleSettings } from './settings.js';

const VERSION = 1;

/** What is stored across restarts and moves to another agent host. */
export interface LifeCycleRecord {
  readonly life: LifeCycleState;
  readonly guard: GuardState;
}

/** Returns under another learner or fallback are not comparable, so these names are checked. */
export interface LifeCycleOwner {
  readonly function: string;
  readonly fallback: string;
  readonly learner: string;
}

const finite = z.number();
const count = z.int().min(0);
const figures = z.object({ mean: finite, spread: finite.min(0), episodes: count });

const recordSchema = ({ window, agreeingWindows }: LifeCycleSettings) =>
  z.object({
    life: z.object({
      phase: z.enum(PHASES),
      episodes: count,
      inPhase: count,
      returns: z.array(finite).max(window * agreeingWindows),
      estimates: z.array(finite).max(window),
      fallback: figures.nullable(),
      best: finite.nullable(),
      reference: figures.nullable(),
      demotions: count,
    }),
    guard: z.object({ fallbackActs: z.boolean(), steps: count }),
  });

const headSchema = z.object({
  v: z.int().min(1),
  function: z.string(),
  fallback: z.string(),
  learner: z.string(),
  judgedBy: z.string(),
  record: z.unknown(),
});

const judgedBy = ({ window, episodeSteps, maximum }: LifeCycleSettings): string =>
  `${window} episodes of ${episodeSteps}, at most ${maximum}`;

export function encodeLifeCycle(
  owner: LifeCycleOwner,
  record: LifeCycleRecord,
  settings: LifeCycleSettings,
): string {
  const { life, guard } = record;
  const head = { v: VERSION, ...owner, judgedBy: judgedBy(settings) };
  return `${JSON.stringify({ ...head, record: { life, guard } })}\n`;
}

/** @throws LifeCycleDamagedError, LifeCycleForeignError, LifeCycleNewerError */
export function decodeLifeCycle(
  where: string,
  json: string,
  owner: LifeCycleOwner,
  settings: LifeCycleSettings,
): LifeCycleRecord {
  let data: unknown;
  try {
    data = JSON.parse(json);
  } catch (error) {
    throw new LifeCycleDamagedError(where, messageOf(error), error);
  }
  const v = (data as { v?: unknown } | null)?.v;
  // Checked first, as a newer version may have another shape.
  if (typeof v === 'number' && v > VERSION) throw new LifeCycleNewerError(where, v, VERSION);
  const head = headSchema.safeParse(data);
  if (!head.success)
    throw new LifeCycleDamagedError(where, z.prettifyError(head.error), head.error);
  const expected = { ...owner, judgedBy: judgedBy(settings) };
  for (const [name, value] of Object.entries(expected)) {
    const found = head.data[name as keyof typeof expected];
    if (found !== value)
      throw new LifeCycleForeignError(where, `${name} is '${found}', not '${value}'`);
  }
  const record = recordSchema(settings).safeParse(head.data.record);
  if (!record.success)
    throw new LifeCycleDamagedError(where, z.prettifyError(record.error), record.error);
  const { life } = record.data;
  if (life.phase === 'serving' && life.reference === null)
    throw new LifeCycleDamagedError(where, 'a serving agent has no reference return');
  return record.data;
}
