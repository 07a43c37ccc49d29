import { z } from 'zod';
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

/** The owner, and the settings by which returns were judged. */
const headOf = (owner: LifeCycleOwner, { window, episodeSteps, maximum }: LifeCycleSettings) => ({
  v: VERSION,
  ...owner,
  judgedBy: `${window} episodes of ${episodeSteps}, at most ${maximum}`,
});

function recordSchema(owner: LifeCycleOwner, settings: LifeCycleSettings) {
  const { window, agreeingWindows } = settings;
  const head = headOf(owner, settings);
  return z.object({
    v: z.literal(head.v),
    function: z.literal(head.function),
    fallback: z.literal(head.fallback),
    learner: z.literal(head.learner),
    judgedBy: z.literal(head.judgedBy),
    record: z.object({
      life: z
        .object({
          phase: z.enum(PHASES),
          episodes: count,
          inPhase: count,
          returns: z.array(finite).max(window * agreeingWindows),
          estimates: z.array(finite).max(window),
          fallback: figures.nullable(),
          best: finite.nullable(),
          reference: figures.nullable(),
          demotions: count,
          guarded: count.default(0),
        })
        // A serving agent is judged against its reference.
        .refine(({ phase, reference }) => phase !== 'serving' || reference !== null),
      guard: z.object({ fallbackActs: z.boolean(), steps: count }),
    }),
  });
}

export function encodeLifeCycle(
  owner: LifeCycleOwner,
  { life, guard }: LifeCycleRecord,
  settings: LifeCycleSettings,
): string {
  return `${JSON.stringify({ ...headOf(owner, settings), record: { life, guard } })}\n`;
}

/** Null if it is damaged, of another version or owner, or was judged by other settings. */
export function decodeLifeCycle(
  json: string,
  owner: LifeCycleOwner,
  settings: LifeCycleSettings,
): LifeCycleRecord | null {
  let data: unknown;
  try {
    data = JSON.parse(json);
  } catch {
    return null;
  }
  return recordSchema(owner, settings).safeParse(data).data?.record ?? null;
}
