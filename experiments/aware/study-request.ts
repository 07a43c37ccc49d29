import { lifeCycleSettings } from '../../agents/aware/index.js';
import type { AwareApp } from '../../simulator/workload/index.js';
import type { Paired } from './study-parts.js';

export interface AwareStudyRequest {
  /** Held-out applications, all of them for the survey; pairs are drawn from them. */
  readonly heldOut: readonly AwareApp[];
  /** Workloads that TL begins from: of the training part. */
  readonly sources: readonly AwareApp[];
  readonly pairs: number;
  /** Runs of each change scenario. */
  readonly perScenario: number;
  readonly surveyEpisodes: number;
  readonly sourceEpisodes: number;
  readonly adaptationEpisodes: number;
  readonly beforeEpisodes: number;
  readonly afterEpisodes: number;
  readonly bootstrapEpisodes: number;
  readonly triplets: number;
  readonly tripletEpisodes: number;
}

/** Converged: within 2.6 % of the best contender's return [AWARE]. */
export const CONVERGED = lifeCycleSettings.servingShare;
/** Episodes that count as the first ones. */
export const FIRST = 100;

/** Every k-th of the held-out applications, so that pairs spread over all of them. */
export const pairsOf = (apps: readonly AwareApp[], count: number): Paired[] =>
  Array.from({ length: count }, (_, i) => ({
    app: apps[Math.floor((i * apps.length) / count)]!,
    seed: 11 + i,
  }));
