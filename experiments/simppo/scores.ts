import { z } from 'zod';
import type { RunScore } from '../autoscaling/index.js';

const share = z.number().min(0);
const functionScore = z.object({
  name: z.string(),
  reward: z.number(),
  violations: share,
  p99: share,
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
  const mean = (of: (score: RunScore) => number): number =>
    scores.reduce((sum, score) => sum + of(score), 0) / scores.length;
  const totals = Object.fromEntries(
    KEYS.map((key) => [key, mean((score) => score[key])]),
  ) as Record<(typeof KEYS)[number], number>;
  return {
    ...totals,
    functions: scores[0]!.functions.map(({ name, slo }, i) => ({
      name,
      slo,
      reward: mean(({ functions }) => functions[i]!.reward),
      violations: mean(({ functions }) => functions[i]!.violations),
      p99: mean(({ functions }) => functions[i]!.p99),
    })),
  };
}
