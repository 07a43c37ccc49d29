import type { Observation } from '../../broker/messages/index.js';
import type { Millis } from '../../config/index.js';
import type { ResourceManager } from '../resource-manager.js';
import { actuate, type InForce, NOTHING_IN_FORCE, type Recommendation } from './actuator.js';
import { HPA_INITIAL, HPA_PUBLISHED, type HpaConstants, type HpaState, hpaObserve } from './hpa.js';
import {
  VPA_DEFAULT,
  VPA_INITIAL,
  VPA_PUBLISHED,
  type VpaConstants,
  type VpaState,
  vpaObserve,
  vpaRecommend,
} from './vpa.js';

/** Constants of the multidimensional pod autoscaler. Times in ms. */
export interface HpaVpaConstants {
  readonly vpa: VpaConstants;
  readonly hpa: HpaConstants;
  readonly life: number;
}

/** VPA and HPA with their own constants; life as in [MPA]. */
export const HPA_VPA_PUBLISHED: HpaVpaConstants = {
  vpa: VPA_PUBLISHED,
  hpa: HPA_PUBLISHED,
  life: 300_000,
};

/** With the half-life of manager `vpa`. */
export const HPA_VPA_DEFAULT: HpaVpaConstants = { ...HPA_VPA_PUBLISHED, vpa: VPA_DEFAULT };

export interface RecommenderState {
  readonly vpa: VpaState;
  readonly hpa: HpaState;
}

type Stored = Recommendation & { readonly expires: Millis };

export interface HpaVpaState {
  readonly recommender: RecommenderState;
  readonly store: Stored | null;
  readonly inForce: InForce;
}

/** The newest recommendation of each member until it expires, as in [MPA]'s object status. */
export function stored(
  before: Stored | null,
  recommendation: Recommendation | null,
  now: Millis,
  life: number,
): Stored | null {
  const kept = before !== null && before.expires > now ? before : null;
  if (recommendation === null) return kept;
  return { ...kept, ...recommendation, expires: (now + life) as Millis };
}

/** Containers for the newly recommended size, so that only one reacts to a rise of load [AWARE]. */
export function recommendBoth(
  before: RecommenderState,
  observation: Observation,
  { vpa: vertical, hpa: horizontal }: HpaVpaConstants,
  now: Millis,
): { readonly state: RecommenderState; readonly recommendation: Recommendation | null } {
  const urgent = observation.oomKills > 0;
  let vpa = vpaObserve(before.vpa, observation, vertical, now);
  const sizes =
    vpa.samples > 0 &&
    (urgent || vpa.recommendedAt === null || now - vpa.recommendedAt >= vertical.loop)
      ? vpaRecommend(vpa, vertical, now)
      : null;
  if (sizes !== null) {
    const target = { cpu: sizes.cpu.target, memory: sizes.memory?.target ?? 0 };
    vpa = { ...vpa, recommendedAt: now, target: target };
  }
  const hpa = hpaObserve(before.hpa, observation, vpa.target?.cpu ?? null, horizontal, now);
  const scaled = hpa.syncedAt === now && hpa.containers !== null;
  if (sizes === null && !scaled) return { state: { vpa, hpa }, recommendation: null };
  return {
    state: { vpa, hpa },
    recommendation: {
      ...(sizes === null ? {} : { cpu: sizes.cpu }),
      ...(sizes?.memory ? { memory: sizes.memory } : {}),
      ...(scaled && hpa.containers !== null ? { containers: hpa.containers } : {}),
      urgent,
    },
  };
}

/** The multidimensional pod autoscaler [MPA], the rule-based fallback of [AWARE]. */
export function hpaVpaManager(constants: HpaVpaConstants): ResourceManager<HpaVpaState> {
  return {
    name: 'hpa-vpa',
    initialState: () => ({
      recommender: { vpa: VPA_INITIAL, hpa: HPA_INITIAL },
      store: null,
      inForce: NOTHING_IN_FORCE,
    }),
    phase: () => 'managing',
    decide(before, { observation }, now) {
      const { state: recommender, recommendation } = recommendBoth(
        before.recommender,
        observation,
        constants,
        now,
      );
      const store = stored(before.store, recommendation, now, constants.life);
      const since = recommender.vpa.first ?? now;
      const { inForce, decision } = actuate(
        before.inForce,
        store,
        observation.user,
        since,
        constants.vpa,
        now,
      );
      return { state: { recommender, store, inForce }, decision };
    },
  };
}
