import { lifeCycleSettings } from '../../agents/aware/index.js';
import type { AwareApp } from '../../simulator/workload/index.js';
import type { Paired } from './study-parts.js';

export interface AwareStudyRequest {
  /** Of the pairs' activations; it also selects which applications they are of. */
  readonly firstSeed: number;
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

export const FIRST_SEED = 11;

/** Every k-th of the held-out applications, so that pairs spread over all of them. */
export const pairsOf = (
  apps: readonly AwareApp[],
  count: number,
  { firstSeed }: Pick<AwareStudyRequest, 'firstSeed'>,
): Paired[] =>
  Array.from({ length: count }, (_, i) => ({
    app: apps[(Math.floor((i * apps.length) / count) + firstSeed) % apps.length]!,
    seed: firstSeed + i,
  }));
