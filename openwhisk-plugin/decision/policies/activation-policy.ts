import type { Millis, PolicyKind, Random } from '../../../config/index.js';
import type { Run } from '../container-state.js';
import type { Grant } from '../grant.js';
import type { DecisionSettings } from '../settings.js';
import type { DecayingHistogram } from '../statistics.js';
import type { ExperienceListener } from './faasrm/experience.js';

/** What only a simulator knows; a real host has {@link noOracle}. */
export interface Oracle {
  /** CPU work that the run still has to do, ms; NaN = unknown. */
  remainingCpu(run: Run): number;
}

export const noOracle: Oracle = { remainingCpu: () => Number.NaN };

/** The host before the activation takes anything. */
interface HostSnapshot {
  /** Containers with activations running. */
  running: number;
  /** Allocatable, millicores. */
  cpu: number;
  /** Unallocated shares of allocatable CPU and memory. */
  freeCpu: number;
  freeMemory: number;
}

/** What a choice may look at besides the run; one object, reused by the decider. */
export interface PolicyContext {
  settings: DecisionSettings;
  random: Random;
  /** Reference CPU time of this host, ms; NaN = not known yet. */
  reference: Millis;
  /** CPU times of functions' first activations on this host, ms. */
  firstCpuTimes: DecayingHistogram;
  now: Millis;
  /** The function's objective for init + run, ms; NaN = not known yet. */
  objective: number;
  /** Factor of all managed weights, and the one that leaves a container its own share. */
  commonWeight: number;
  neutralWeight: number;
  /** The largest factor on a container's own weight. */
  highestFactor: number;
  /** The largest weight of this container, for what runs beside it and is not managed. */
  mostWeight: number;
  /** Cores of this host. */
  cores: number;
  oracle: Oracle;
  host: HostSnapshot;
  /** Receives choices and their outcomes; null: no trainer. */
  experiences: ExperienceListener | null;
}

/**
 * Chooses within the safeguard's range at every start. One instance serves one host. The decider
 * clips every answer; not finite or not positive means user limits.
 */
export interface ActivationPolicy {
  readonly name: string;
  readonly kind: PolicyKind;
  /** `weight`: its factors are relative, so that the host makes room for them. */
  readonly relative?: boolean;
  /**
   * `weight`: it puts activations far above others, so that a starting container would wait for
   * them with 16 times its weight.
   */
  readonly orders?: boolean;
  /**
   * It predicts the demand of this activation: a range that comes from recent peaks is widened to
   * [floor, cap], if there is a mid-run safeguard.
   */
  readonly predicts?: boolean;
  /**
   * `range`: the requested amount, millicores or bytes, for `grant` (`run.cpu` or `run.memory`),
   * whose `lower`, `upper` and `user` are set. `weight` (`grant` is `run.cpu`): the factor on the
   * container's own shares.
   */
  choose(run: Run, grant: Grant, context: PolicyContext): number;
  /**
   * `weight`: the factor after `used` ms of CPU time, for policies that change it during the run.
   */
  revise?(run: Run, used: number, context: PolicyContext): number;
  /** CPU time, ms, at which `revise` would give another answer; Infinity = never. */
  revisesAt?(run: Run, used: number, context: PolicyContext): number;
  /** After each clean success of a run that was alone. `duration` in ms, NaN = unknown. */
  learn?(run: Run, duration: number, context: PolicyContext, now: number): void;
}
