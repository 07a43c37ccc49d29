import type { ResourceManager } from '../../agents/index.js';
import type { Workload } from '../../simulator/workload/index.js';
import { mean, sum } from '../statistics.js';
import { phaseOf } from './mixes.js';

/** The factors that searches try: those of the bandit, too. */
export const FACTORS: readonly number[] = [0.25, 0.5, 1, 2, 4];

/** Weight factors that are known before the run, by function and phase. */
export type FactorPlan = (fn: number, phase: number) => number;

/** Applies a plan as a manager of the simulator. */
export function plannedManager({ functions }: Workload, plan: FactorPlan): ResourceManager<number> {
  const indices = new Map(functions.map(({ name }, index) => [name, index]));
  return {
    name: 'planned',
    initialState: (fn) => indices.get(fn)!,
    phase: () => 'managing',
    decide: (fn, _view, now) => ({
      state: fn,
      decision: { weightFactor: plan(fn, phaseOf(1000 * now)), actions: [0, 0, 0] },
    }),
  };
}

/**
 * The rule with one parameter for functions: (mean slack / own slack)^beta, within 1/4 and 4.
 * Slack: objective / duration alone, which the rule is told; the mean is geometric.
 */
export function slackPlan({ functions }: Workload, beta: number): FactorPlan {
  const slacks = functions.map(({ sloMs = Number.NaN, profile }) => {
    const alone = medianOf(profile.cpuMs) / Math.min(1, profile.parallelism);
    return Math.log(sloMs / (alone + medianOf(profile.ioMs)));
  });
  const meanSlack = mean(slacks);
  const factors = slacks.map((slack) =>
    Math.min(4, Math.max(0.25, Math.exp(beta * (meanSlack - slack)))),
  );
  return (fn) => factors[fn]!;
}

const medianOf = (distribution: Workload['functions'][number]['profile']['cpuMs']): number =>
  typeof distribution === 'object' && 'lognormal' in distribution
    ? distribution.lognormal.median
    : 0;

/** Late activations by phase, of a run under a plan. */
export type PhaseTrial = (plan: FactorPlan) => readonly number[];

/**
 * One pass of coordinate search on `phases` phases: each function in turn takes the factor with the
 * fewest late activations. `phased` takes the factor that was best in each phase, beside the static
 * ones of the others, with knowledge of the phases: what adapting could win.
 */
export function searchPlans(
  functions: number,
  phases: number,
  trial: PhaseTrial,
): { readonly fixed: FactorPlan; readonly phased: FactorPlan } {
  const fixed = new Array<number>(functions).fill(1);
  const phased = Array.from({ length: phases }, () => [...fixed]);
  let current = trial((fn) => fixed[fn]!);
  for (let fn = 0; fn < functions; fn++) {
    const trials = FACTORS.map((factor) => ({
      factor,
      late: factor === 1 ? current : trial((other) => (other === fn ? factor : fixed[other]!)),
    }));
    // A factor of 1 where others are no better.
    const neutral = trials.find(({ factor }) => factor === 1)!;
    const fewest = (of: (late: readonly number[]) => number): (typeof trials)[number] =>
      trials.reduce((best, one) => (of(one.late) < of(best.late) ? one : best), neutral);
    const chosen = fewest(sum);
    fixed[fn] = chosen.factor;
    current = chosen.late;
    for (let phase = 0; phase < phases; phase++)
      phased[phase]![fn] = fewest((late) => late[phase]!).factor;
  }
  return {
    fixed: (fn) => fixed[fn]!,
    phased: (fn, phase) => phased[Math.min(phase, phases - 1)]![fn]!,
  };
}
