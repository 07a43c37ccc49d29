import { z } from 'zod';
import type { RunScore } from '../autoscaling/index.js';
import { mean } from '../statistics.js';

const share = z.number().min(0);
const functionScore = z.object({
  name: z.string(),
  reward: z.number(),
  violations: share,
  /** Null, in a file, and NaN: it had no activations. */
  p99: share.nullable().transform((value) => value ?? Number.NaN),
  slo: share,
});

/** A contender's figures with one seed: means over its episodes. */
export const contenderScore = z.object({
  reward: z.number(),
  sloPreservation: share,
  cpuUse: share,
  memoryUse: share,
  violations: share,
  violatedSteps: share,
  occupancy: share,
  rewardOfRequests: z.number(),
  functions: z.array(functionScore),
});
export type ContenderScore = z.infer<typeof contenderScore>;

const KEYS = [
  'reward',
  'sloPreservation',
  'cpuUse',
  'memoryUse',
  'violations',
  'violatedSteps',
  'occupancy',
  'rewardOfRequests',
] as const satisfies readonly (keyof RunScore)[];

/** Means over episodes, function by function too. */
export function meanScore(scores: readonly RunScore[]): ContenderScore {
  const over = (of: (score: RunScore) => number): number => mean(scores.map(of));
  const totals = Object.fromEntries(
    KEYS.map((key) => [key, over((score) => score[key])]),
  ) as Record<(typeof KEYS)[number], number>;
  return {
    ...totals,
    functions: scores[0]!.functions.map(({ name, slo }, i) => ({
      name,
      slo,
      reward: over(({ functions }) => functions[i]!.reward),
      violations: over(({ functions }) => functions[i]!.violations),
      // Of the episodes in which it had activations.
      p99: mean(
        scores.flatMap(({ functions }) =>
          functions[i]!.activations > 0 ? [functions[i]!.p99] : [],
        ),
      ),
    })),
  };
}
