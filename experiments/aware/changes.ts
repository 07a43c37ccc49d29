import { shareOf } from '../../agents/aware/index.js';
import { CHANGE_SCENARIOS, type ChangeScenario, SEGMENTS } from '../../simulator/workload/index.js';
import { type Interval, meanInterval } from '../statistics.js';
import { type Condition, demandOf } from './demand.js';
import { AgentRun, conservativePpo, type EpisodeRecord } from './episodes.js';
import { hpaVpaController } from './rule-based.js';
import {
  episodesToReach,
  meanOfRecords,
  named,
  type Paired,
  playEpisodes,
  type RecordFigure,
  type StudyTools,
  servingCourse,
  tuningOf,
} from './study-parts.js';
import { type AwareStudyRequest, CONVERGED, pairsOf } from './study-request.js';
import { AwareSystem } from './system.js';

export interface ScenarioRow {
  readonly scenario: string;
  readonly runs: number;
  readonly drop: Interval;
  readonly noticed: Interval;
  readonly recovered: Interval;
  readonly reached: number;
}

export interface ServingFigures {
  readonly runs: number;
  /** With retraining over without, less 1; and missed steps of each. */
  readonly cpu: Interval;
  readonly memory: Interval;
  readonly earned: Interval;
  readonly missed: Interval;
  readonly missedWithout: Interval;
  /** What retraining earns late, below what was converged to before: as a share. */
  readonly belowConverged: Interval;
}

/** Conditions before and after; `load` is two changes. */
function changesOf(
  scenario: ChangeScenario,
): readonly { name: string; before: Condition; after: Condition }[] {
  const kind = CHANGE_SCENARIOS[scenario];
  if (kind !== undefined) return [{ name: scenario, before: {}, after: { grown: kind } }];
  const high = { activationsPerDay: 200_000 };
  const low = { activationsPerDay: 10_000 };
  return [
    { name: 'load high to low', before: high, after: low },
    { name: 'load low to high', before: low, after: high },
  ];
}

/**
 * One change of one application: the episodes before it, and those after it with retraining and
 * without.
 */
export interface ChangeRun {
  readonly scenario: string;
  readonly before: readonly EpisodeRecord[];
  readonly retrained: readonly EpisodeRecord[];
  readonly frozen: readonly EpisodeRecord[];
  /** Episodes until the detector tripped; all, where it never did. */
  readonly noticed: number;
  readonly transitions: readonly string[];
}

interface ChangePiece {
  readonly name: string;
  readonly before: Condition;
  readonly after: Condition;
  readonly paired: Paired;
}

/**
 * Runs of every scenario that there is an application for: with a few of them only, a scenario may
 * change none.
 */
function plan(request: AwareStudyRequest): ChangePiece[] {
  const { heldOut, perScenario } = request;
  return (Object.keys(CHANGE_SCENARIOS) as ChangeScenario[]).flatMap((scenario) => {
    const kind = CHANGE_SCENARIOS[scenario];
    const touched = heldOut.filter(({ segments }) =>
      segments.some((segment) => kind === undefined || SEGMENTS[segment].input === kind),
    );
    if (touched.length === 0) return [];
    return changesOf(scenario).flatMap((change) =>
      pairsOf(touched, perScenario, request).map((paired) => ({ ...change, paired })),
    );
  });
}

/** The application that each piece changes: one may be in several scenarios. */
export const changedApps = (request: AwareStudyRequest): number[] =>
  plan(request).map(({ paired }) => paired.app.id);

export const changePieces = (request: AwareStudyRequest): number => plan(request).length;

export function change(tools: StudyTools, request: AwareStudyRequest, piece: number): ChangeRun {
  const { beforeEpisodes, afterEpisodes } = request;
  const { name, before, after, paired } = plan(request)[piece]!;
  const play = (retrains: boolean) => {
    const { agentRun, system, records } = servingAgent(
      tools,
      paired,
      before,
      beforeEpisodes,
      retrains,
    );
    system.change(demandOf(paired.app, after));
    const later: EpisodeRecord[] = [];
    let noticed = afterEpisodes;
    for (let i = 0; i < afterEpisodes; i++) {
      later.push(agentRun.episode(system));
      if (noticed === afterEpisodes && agentRun.transitions.length > 0) noticed = i + 1;
    }
    agentRun.dispose();
    return { before: records, later, noticed, transitions: named(agentRun.transitions) };
  };
  const { later: retrained, ...rest } = play(true);
  return { scenario: name, ...rest, retrained, frozen: play(false).later };
}

export function scenarioRows(all: readonly ChangeRun[]): ScenarioRow[] {
  return [...new Set(all.map(({ scenario }) => scenario))].map((scenario) => {
    const runs = all.filter((run) => run.scenario === scenario);
    const recovered = runs.map(({ retrained }) =>
      episodesToReach(retrained, shareOf(meanOfRecords(retrained.slice(-20), 'earned'), CONVERGED)),
    );
    return {
      scenario,
      runs: runs.length,
      drop: meanInterval(
        runs.map(
          ({ before, retrained }) =>
            1 -
            meanOfRecords(retrained.slice(0, 10), 'earned') /
              meanOfRecords(before.slice(-20), 'earned'),
        ),
      ),
      noticed: meanInterval(runs.map((run) => run.noticed)),
      recovered: meanInterval(recovered.map((one, i) => one ?? runs[i]!.retrained.length)),
      reached: recovered.filter((one) => one !== null).length,
    };
  });
}

/** `apps`: that of each run. Runs of one application count as one group in the intervals. */
export function servingFigures(all: readonly ChangeRun[], apps: readonly number[]): ServingFigures {
  const over = (value: (run: ChangeRun) => number): Interval => meanInterval(all.map(value), apps);
  const ratio = (figure: RecordFigure): Interval =>
    over(
      ({ retrained, frozen }) =>
        meanOfRecords(retrained, figure) / meanOfRecords(frozen, figure) - 1,
    );
  return {
    runs: all.length,
    cpu: ratio('cpu'),
    memory: ratio('memory'),
    earned: ratio('earned'),
    missed: over(({ retrained }) => meanOfRecords(retrained, 'missed')),
    missedWithout: over(({ frozen }) => meanOfRecords(frozen, 'missed')),
    belowConverged: over(
      ({ before, retrained }) =>
        1 -
        meanOfRecords(retrained.slice(-20), 'earned') / meanOfRecords(before.slice(-20), 'earned'),
    ),
  };
}

/** An agent that has learned a workload and serves it, with or without retraining. */
function servingAgent(
  tools: StudyTools,
  { app, seed }: Paired,
  condition: Condition,
  episodes: number,
  retrains: boolean,
) {
  const demand = demandOf(app, condition);
  const system = new AwareSystem(demand, seed);
  const fallback = hpaVpaController(demand, tuningOf({ app, seed }, condition));
  const { engine, meta } = tools;
  const common = {
    engine,
    seed,
    ppo: conservativePpo,
    encoder: meta.encoder,
    transfer: false,
    fallback,
  } as const;
  const learner = new AgentRun({ ...common, course: 'online', start: meta.base });
  const records = playEpisodes(learner, system, episodes);
  const agentRun = new AgentRun({
    ...common,
    course: retrains ? 'life-cycle' : 'serving',
    start: learner.learner.agent.export(),
    begin: servingCourse(records),
  });
  agentRun.remember(learner.trajectories);
  learner.dispose();
  return { agentRun, system, records };
}
