import type { Observation } from '../../broker/messages/index.js';
import type { Millicores, Millis } from '../../config/index.js';
import type { ResourceManager } from '../resource-manager.js';
import { allocated } from '../validation.js';

/** Constants of ENSURE. CPU in millicores, latencies in ms. */
export interface EnsureConstants {
  /** Latency is degraded from this multiple of the reference on. */
  readonly threshold: number;
  /** A function with a mean latency above this is of class MP ("long"), otherwise ET ("short"). */
  readonly longAbove: number;
  /** Activations between two evaluations, and the step. */
  readonly long: { readonly activations: number; readonly step: (user: number) => number };
  readonly short: { readonly activations: number; readonly step: (user: number) => number };
  readonly least: (user: number) => number;
}

/** As the authors of [FaaSRM] implement it [Freyr]: whole cores. */
export const ENSURE_PUBLISHED: EnsureConstants = {
  threshold: 1.1,
  longAbove: 5000,
  long: { activations: 5, step: () => 1000 },
  short: { activations: 3, step: () => 2000 },
  least: () => 1000,
};

const quarter = (user: number): number => Math.max(250, 0.1 * user);

/** The steps of manager `greedy`, because user limits are fractions of a core here. */
export const ENSURE_DEFAULT: EnsureConstants = {
  ...ENSURE_PUBLISHED,
  long: { activations: 5, step: quarter },
  short: { activations: 3, step: (user) => 2 * quarter(user) },
  least: (user) => Math.max(50, 0.05 * user),
};

export interface EnsureState {
  /** Last target, millicores; null before the first evaluation. */
  readonly cpu: number | null;
  /** Activations since the last evaluation, and the sum of their latencies without inits, ms. */
  readonly activations: number;
  readonly sum: number;
  /** The reference: the lowest mean latency of an evaluation, ms; null before the first. */
  readonly best: number | null;
}

/** Sum of the run times, ms: a cold start does not count as degradation. */
const runSum = ({ latency, coldStarts, inits = coldStarts, initTime = 0 as Millis }: Observation) =>
  Math.max(0, latency.sum - inits * initTime);

/**
 * [ENSURE] as [Freyr] reads it: CPU rises when the mean latency is 1.1 × the reference, and falls
 * only when the host is out of headroom (its congestion price is above 0). Memory stays the user's.
 * The reference is the best evaluation so far: the published programs use an oracle's value or 0.
 */
export function ensureManager(constants: EnsureConstants): ResourceManager<EnsureState> {
  return {
    name: 'ensure',
    initialState: () => ({ cpu: null, activations: 0, sum: 0, best: null }),
    phase: () => 'managing',
    decide(state, { observation, price }) {
      const { user } = observation;
      const target = state.cpu ?? user.cpu;
      const decision = (cpu: number, step: number) => ({
        cpu: cpu as Millicores,
        memory: user.memory,
        actions: [0, step, 0] as const,
      });
      const activations = state.activations + observation.activations;
      const sum = state.sum + runSum(observation);
      const mean = activations > 0 ? sum / activations : 0;
      const rule = mean > constants.longAbove ? constants.long : constants.short;
      if (activations < rule.activations || !(mean > 0))
        return { state: { ...state, activations, sum }, decision: decision(target, 0) };
      const best = Math.min(state.best ?? mean, mean);
      const step = rule.step(user.cpu);
      const least = Math.min(user.cpu, constants.least(user.cpu));
      const held = allocated(observation, 'cpu', state.cpu);
      let cpu = target;
      if ((price?.cpu ?? 0) > 0) cpu = Math.max(least, held - step);
      else if (mean / best >= constants.threshold) cpu = held + step;
      return {
        state: { cpu, activations: 0, sum: 0, best },
        decision: decision(cpu, Math.sign(cpu - target)),
      };
    },
  };
}
