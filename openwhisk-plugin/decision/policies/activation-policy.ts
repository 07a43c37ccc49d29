import type { Millis, PolicyKind, Random } from '../../../config/index.js';
import type { Run } from '../container-state.js';
import type { Grant } from '../grant.js';
import type { HostSnapshot } from '../host-snapshot.js';
import type { DecisionSettings } from '../settings.js';
import type { ExperienceListener } from './faasrm/experience.js';

/**
 * What only a simulator can know. A real host has {@link noOracle}; a policy that needs more
 * refuses there.
 */
export interface Oracle {
  /** CPU work that the run still has to do, ms; NaN = unknown. */
  remainingCpu(run: Run): number;
}

export const noOracle: Oracle = { remainingCpu: () => Number.NaN };

/** What a choice may look at besides the run; one object, reused by the decider. */
export interface PolicyContext {
  settings: DecisionSettings;
  random: Random;
  /** Reference CPU time of this host, ms; NaN = not known yet. */
  reference: Millis;
  /** Cores of this host. */
  cores: number;
  oracle: Oracle;
  /** The host as it is before this activation starts. */
  host: HostSnapshot;
  /** Who learns from choices and what came of them; null: nobody. */
  experiences: ExperienceListener | null;
}

/**
 * The choice left by the safeguard, made in the hook for every activation (design §3.3, §4). Free
 * of allocation; pure but for what `learn` has taught it, so one instance serves one host. Whatever
 * a policy answers is clipped by the decider; not finite or not positive means user limits.
 */
export interface ActivationPolicy {
  readonly name: string;
  readonly kind: PolicyKind;
  /**
   * It predicts the demand of this very activation: where the range comes from recent peaks (over-
   * and under-provisioned), it is widened to [floor, cap], and the mid-run safeguard alone guards
   * the run (so not in presets without one). First calls, failures, spikes and the control arm stay
   * at user limits.
   */
  readonly predicts?: boolean;
  /**
   * `range`: the amount wished, millicores or bytes, for `grant` (`run.cpu` or `run.memory`), whose
   * `lower`, `upper` and `user` are set. `weight` (`grant` is `run.cpu`): the factor on the
   * container's own shares.
   */
  choose(run: Run, grant: Grant, context: PolicyContext): number;
  /**
   * `weight`: the factor after `used` ms of CPU time, where a policy changes its mind while the run
   * goes on.
   */
  revise?(run: Run, used: number, context: PolicyContext): number;
  /**
   * CPU time, ms, at which `revise` would answer otherwise; Infinity = never. A simulator asks
   * then, a real host as often as it samples.
   */
  revisesAt?(run: Run, used: number, context: PolicyContext): number;
  /**
   * Told of every clean success of a run that was alone in its container. `duration` in ms, NaN =
   * unknown.
   */
  learn?(run: Run, duration: number, context: PolicyContext, now: number): void;
}
