import { type AdaptationRow, adaptationRows } from './adaptation.js';
import { type BootstrapRow, bootstrapRows } from './bootstrap-runs.js';
import {
  changedApps,
  type ScenarioRow,
  type ServingFigures,
  scenarioRows,
  servingFigures,
} from './changes.js';
import { type AwarePiece, resultsOf } from './study-pieces.js';
import type { AwareStudyRequest } from './study-request.js';
import { embeddingGain, type SurveyRow, surveyRows } from './survey.js';

export interface AwareStudy {
  readonly triplets: { readonly share: number; readonly triplets: number };
  readonly survey: readonly SurveyRow[];
  readonly embedding: ReturnType<typeof embeddingGain>;
  readonly adaptation: readonly AdaptationRow[];
  readonly scenarios: readonly ScenarioRow[];
  readonly serving: ServingFigures;
  readonly bootstrap: readonly BootstrapRow[];
  /** What the life cycle did in the runs of `aware`, `bootstrap` and after changes. */
  readonly transitions: Readonly<Record<string, number>>;
}

/** The reproduction of AWARE's evaluation [AWARE] from the results of its pieces. */
export function gatherStudy(
  request: AwareStudyRequest,
  result: (piece: AwarePiece) => unknown,
): AwareStudy {
  const adaptation = resultsOf('adaptation', request, result);
  const changes = resultsOf('changes', request, result);
  const bootstrapRuns = resultsOf('beginnings', request, result);
  const surveyed = resultsOf('survey', request, result).flat();
  const transitions: Record<string, number> = {};
  for (const run of [...adaptation.flat(2), ...changes, ...bootstrapRuns.flat()])
    for (const name of run.transitions) transitions[name] = (transitions[name] ?? 0) + 1;
  return {
    triplets: resultsOf('embeddings', request, result)[0]!,
    survey: surveyRows(surveyed),
    embedding: embeddingGain(surveyed),
    adaptation: adaptationRows(adaptation),
    scenarios: scenarioRows(changes),
    serving: servingFigures(changes, changedApps(request)),
    bootstrap: bootstrapRows(bootstrapRuns, request.bootstrapEpisodes),
    transitions,
  };
}
