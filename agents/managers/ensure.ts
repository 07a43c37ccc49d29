import type { Observation } from '../../broker/messages/index.js';
import type { Millicores } from '../../config/index.js';
import type { ResourceManager } from '../resource-manager.js';
import { allocated } from './validation.js';

/** Constants of ENSURE. CPU in millicores, latencies in ms. */
export interface EnsureConstants {
  /** Mean latency from this x the reference on: degraded. */
  readonly threshold: number;
  /** A function whose mean latency is above this is of class MP ("long"), else ET ("short"). */
  readonly longAbove: number;
  /** Calls between two looks, and the step taken. */
  readonly long: { readonly calls: number; readonly step: (user: number) => number };
  readonly short: { readonly calls: number; readonly step: (user: number) => number };
  readonly least: (user: number) => number;
}

/** As the Freyr authors read it (simppo-aware.md §4.3, faasrm.md §4.3): whole cores. */
export const ENSURE_PUBLISHED: EnsureConstants = {
  threshold: 1.1,
  longAbove: 5000,
  long: { calls: 5, step: () => 1000 },
  short: { calls: 3, step: () => 2000 },
  least: () => 1000,
};

const quarter = (user: number): number => Math.max(250, 0.1 * user);

/**
 * The same rule with the steps of our `greedy` (a quarter core, twice that for short functions):
 * users are owed fractions of a core.
 */
export const ENSURE_DEFAULT: EnsureConstants = {
  ...ENSURE_PUBLISHED,
  long: { calls: 5, step: quarter },
  short: { calls: 3, step: (user) => 2 * quarter(user) },
  least: (user) => Math.max(50, 0.05 * user),
};

export interface EnsureState {
  /** Last wish, millicores; null before the first look. */
  readonly cpu: number | null;
  /** Calls since the last look, and their latencies' sum without cold starts' inits, ms. */
  readonly calls: number;
  readonly sum: number;
  /** Lowest mean of a look: the reference; null before the first. */
  readonly best: number | null;
}

/** Sum of the run times, ms: a cold start is no degradation. */
const runSum = ({ latency, coldStarts, initTime }: Observation): number =>
  Math.max(0, latency.sum - coldStarts * (initTime ?? 0));

/**
 * ENSURE (ACSOS'20) in the reading of simppo-aware.md §4.3: CPU rises where the mean latency of the
 * newest calls is 1.1 x the reference, falls by a step only where the host has no headroom (a
 * congestion price stands), memory is the user's. The looks are at every 3 (short) or 5 (long)
 * calls or at the next observation after. The reference is the best look so far, as the published
 * programs mean it: one of them takes an oracle's, the other one that stays 0 and never acts
 * (faasrm.md §7, 19).
 */
export function ensureManager(constants: EnsureConstants): ResourceManager<EnsureState> {
  return {
    name: 'ensure',
    initialState: () => ({ cpu: null, calls: 0, sum: 0, best: null }),
    phase: () => 'managing',
    decide(state, { observation, price }) {
      const { user } = observation;
      const target = state.cpu ?? user.cpu;
      const decision = (cpu: number, step: number) => ({
        cpu: cpu as Millicores,
        memory: user.memory,
        actions: [0, step, 0] as const,
      });
      const calls = state.calls + observation.activations;
      const sum = state.sum + runSum(observation);
      const mean = calls > 0 ? sum / calls : 0;
      const rule = mean > constants.longAbove ? constants.long : constants.short;
      if (calls < rule.calls || !(mean > 0))
        return { state: { ...state, calls, sum }, decision: decision(target, 0) };
      const best = Math.min(state.best ?? mean, mean);
      const step = rule.step(user.cpu);
      const least = Math.min(user.cpu, constants.least(user.cpu));
      const held = allocated(observation, 'cpu', state.cpu);
      let cpu = target;
      if ((price?.cpu ?? 0) > 0) cpu = Math.max(least, held - step);
      else if (mean / best >= constants.threshold) cpu = held + step;
      return {
        state: { cpu, calls: 0, sum: 0, best },
        decision: decision(cpu, Math.sign(cpu - target)),
      };
    },
  };
}
