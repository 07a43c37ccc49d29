import { type LifeCycleTransition, lifeCycleSettings, shareOf } from '../../agents/index.js';
import { SeededRandom } from '../../config/index.js';
import { bootstrapMean, type Interval } from '../compare/statistics.js';
import type { AwareApp } from '../workload/aware.js';
import { CHANGE_SCENARIOS, type ChangeScenario } from '../workload/scenarios.js';
import { SEGMENTS } from '../workload/segments.js';
import { type Condition, demandOf } from './demand.js';
import { fallbackTrajectory, tripletShare } from './meta-training.js';
import { AwarePupil, carefulPpo, type EpisodeRecord } from './pupil.js';
import { hpaVpaController } from './rule-based.js';
import {
  type AwareContender,
  bestWindow,
  cloneEpisodes,
  episodesToReach,
  meanOfRecords,
  type Paired,
  playPupil,
  pupilFor,
  type RecordFigure,
  ruleBased,
  type StudyTools,
  servingCourse,
  trainedOn,
  tuningOf,
} from './study-parts.js';
import { AwareSystem } from './system.js';

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

export interface SurveyRow {
  readonly contender: AwareContender;
  readonly figures: Readonly<Record<RecordFigure, Interval>>;
}

export interface AdaptationRow {
  readonly contender: AwareContender;
  /** Episodes until the converged return; those that never did count as all episodes. */
  readonly episodes: Interval;
  readonly reached: number;
  readonly pairs: number;
  /** Share of what the source earned that is lost in the first ten episodes. */
  readonly drop: Interval;
  /** In the first 100 episodes: missed steps, and use below what the converged agents have. */
  readonly missed: Interval;
  readonly cpuDeficit: Interval;
  readonly memoryDeficit: Interval;
  /** Updates of the weights until the converged return. */
  readonly updates: Interval;
  /** Mean reward of the last 20 episodes, as a share of the best contender's. */
  readonly late: Interval;
}

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

export interface BootstrapRow {
  readonly contender: AwareContender;
  readonly pairs: number;
  readonly hundreds: readonly Readonly<{ cpu: Interval; memory: Interval; missed: Interval; earned: Interval }>[];
  /** Over all episodes. */
  readonly missed: Interval;
  readonly earned: Interval;
}

export interface AwareStudy {
  readonly triplets: { readonly share: number; readonly triplets: number };
  readonly survey: readonly SurveyRow[];
  readonly adaptation: readonly AdaptationRow[];
  readonly scenarios: readonly ScenarioRow[];
  readonly serving: ServingFigures;
  readonly bootstrap: readonly BootstrapRow[];
  /** What the life cycle did in the runs of `aware`. */
  readonly transitions: Readonly<Record<string, number>>;
}

const FIGURES: readonly RecordFigure[] = ['earned', 'missed', 'preservation', 'cpu', 'memory'];
/** Converged: within 2.6 % of what the best contender came to (simppo-aware.md §3.4). */
const CONVERGED = lifeCycleSettings.servingShare;
const FIRST = 100;

export type StudyProgress = (share: number, what: string) => void;

/** Every k-th of the held-out applications, so that pairs spread over all of them. */
const pairsOf = (apps: readonly AwareApp[], count: number): Paired[] =>
  Array.from({ length: count }, (_, i) => ({
    app: apps[Math.floor((i * apps.length) / count)]!,
    seed: 11 + i,
  }));

/** The reproduction of AWARE's evaluation (simppo-aware.md §3.8). The same request and weights, the same figures. */
export function awareStudy(
  tools: StudyTools,
  request: AwareStudyRequest,
  progress: StudyProgress = () => {},
): AwareStudy {
  const transitions: Record<string, number> = {};
  const told = (list: readonly LifeCycleTransition[]): void => {
    for (const { from, to } of list) transitions[`${from} → ${to}`] = (transitions[`${from} → ${to}`] ?? 0) + 1;
  };
  progress(0, 'embeddings');
  const { triplets, tripletEpisodes: episodes, heldOut } = request;
  const share = tripletShare(tools.meta.encoder, heldOut, { triplets, episodes, seed: 5 });
  progress(0.15, 'held-out applications');
  const survey = surveyRows(tools, request);
  progress(0.25, 'adaptation');
  const adaptation = adaptationRows(request.sources.flatMap((_, i) => adaptationRuns(tools, request, i, told)));
  progress(0.5, 'changes');
  const changes = changeRows(tools, request, told);
  progress(0.7, 'bootstrapping');
  const runs = Array.from({ length: request.pairs }, (_, i) => bootstrapRun(tools, request, i, told));
  const bootstrap = bootstrapRows(runs, request.bootstrapEpisodes);
  return { triplets: share, survey, adaptation, ...changes, bootstrap, transitions };
}

/** Every held-out application: the base-learner as shipped, with an embedding of two episodes of the fallback, against who learns nothing either. */
export function surveyRows({ engine, meta }: StudyTools, { heldOut, surveyEpisodes }: AwareStudyRequest): SurveyRow[] {
  const names = ['fixed', 'kpa', 'hpa-vpa', 'aware'] as const;
  const settled = Math.floor(surveyEpisodes / 2);
  const means = new Map<AwareContender, number[][]>(names.map((name) => [name, FIGURES.map(() => [])]));
  heldOut.forEach((app, i) => {
    const paired = { app, seed: 501 + i };
    for (const name of names) {
      let records: EpisodeRecord[];
      if (name === 'aware') {
        const pupil = new AwarePupil({
          engine,
          course: 'serving',
          seed: paired.seed,
          ppo: carefulPpo,
          start: meta.base,
          encoder: meta.encoder,
          transfer: false,
          fallback: { decide: ({ allocation }) => allocation },
        });
        const random = new SeededRandom(paired.seed).fork('seen before');
        for (let k = 0; k < 2; k++) pupil.bundle.add(fallbackTrajectory(demandOf(app), random));
        records = playPupil(pupil, new AwareSystem(demandOf(app), paired.seed), surveyEpisodes);
        pupil.dispose();
      } else records = ruleBased(name, paired, surveyEpisodes);
      FIGURES.forEach((figure, f) => {
        means.get(name)![f]!.push(meanOfRecords(records.slice(settled), figure));
      });
    }
  });
  return names.map((contender) => ({
    contender,
    figures: Object.fromEntries(
      FIGURES.map((figure, f) => [figure, bootstrapMean(means.get(contender)![f]!)]),
    ) as SurveyRow['figures'],
  }));
}

const ADAPTING = ['tl', 'tl-plus', 'aware-online', 'aware'] as const;

/** One contender's episodes on a workload; `earned`: by what it was before, where it was anything. */
export interface AdaptationRun {
  readonly name: AwareContender;
  readonly records: readonly EpisodeRecord[];
  readonly earned: number | null;
}

/** All contenders on the pairs that begin from one source: what can be played apart. */
export function adaptationRuns(
  tools: StudyTools,
  { heldOut, sources, pairs, sourceEpisodes, adaptationEpisodes }: AwareStudyRequest,
  source: number,
  told: (list: readonly LifeCycleTransition[]) => void,
): AdaptationRun[][] {
  const start = {
    tl: trainedOn(tools, sources[source]!, false, sourceEpisodes, 101 + source),
    'tl-plus': trainedOn(tools, sources[source]!, true, sourceEpisodes, 101 + source),
  };
  const mine = pairsOf(heldOut, pairs).filter((_, i) => i % sources.length === source);
  const runs = mine.map((paired) => {
    const learnt = ADAPTING.map((name) => {
      const before = name === 'tl' || name === 'tl-plus' ? start[name] : null;
      const pupil = pupilFor(name, tools, paired, before?.pupil ?? null);
      const records = playPupil(pupil, new AwareSystem(demandOf(paired.app), paired.seed), adaptationEpisodes);
      told(pupil.transitions);
      pupil.dispose();
      return { name, records, earned: before?.earned ?? null };
    });
    const rules = (['kpa', 'hpa-vpa'] as const).map((name) => ({
      name,
      records: ruleBased(name, paired, adaptationEpisodes),
      earned: null,
    }));
    const clone = cloneEpisodes(tools, paired, 10, adaptationEpisodes);
    return [...learnt, ...rules, { name: 'clone' as const, records: clone, earned: null }];
  });
  start.tl.pupil.dispose();
  start['tl-plus'].pupil.dispose();
  return runs;
}

export function adaptationRows(runs: readonly (readonly AdaptationRun[])[]): AdaptationRow[] {
  const converged = runs.map((run) => {
    // What learning comes to here, by whichever of them.
    const best = run.filter(({ name }) => ADAPTING.some((one) => one === name));
    const by = [...best].sort((a, b) => bestWindow(b.records) - bestWindow(a.records))[0]!;
    const late = by.records.slice(-20);
    return {
      earned: Math.max(...best.map(({ records }) => meanOfRecords(records.slice(-20), 'earned'))),
      cpu: meanOfRecords(late, 'cpu'),
      memory: meanOfRecords(late, 'memory'),
    };
  });
  return runs[0]!.map(({ name }, column) => {
    const of = (value: (records: readonly EpisodeRecord[], pair: number) => number): Interval =>
      bootstrapMean(runs.map((run, pair) => value(run[column]!.records, pair)));
    const reach = (records: readonly EpisodeRecord[], pair: number): number | null =>
      episodesToReach(records, shareOf(converged[pair]!.earned, CONVERGED));
    return {
      contender: name,
      pairs: runs.length,
      reached: runs.filter((run, pair) => reach(run[column]!.records, pair) !== null).length,
      episodes: of((records, pair) => reach(records, pair) ?? records.length),
      drop: of((records, pair) => {
        const before = runs[pair]![column]!.earned ?? converged[pair]!.earned;
        return 1 - meanOfRecords(records.slice(0, 10), 'earned') / before;
      }),
      missed: of((records) => meanOfRecords(records.slice(0, FIRST), 'missed')),
      cpuDeficit: of((records, pair) => converged[pair]!.cpu - meanOfRecords(records.slice(0, FIRST), 'cpu')),
      memoryDeficit: of((records, pair) => converged[pair]!.memory - meanOfRecords(records.slice(0, FIRST), 'memory')),
      updates: of((records, pair) => records[(reach(records, pair) ?? records.length) - 1]!.updates),
      late: of((records, pair) => meanOfRecords(records.slice(-20), 'earned') / converged[pair]!.earned),
    };
  });
}

/** Conditions before and after; `load` is two changes. */
function changesOf(scenario: ChangeScenario): readonly { name: string; before: Condition; after: Condition }[] {
  const kind = CHANGE_SCENARIOS[scenario];
  if (kind !== undefined) return [{ name: scenario, before: {}, after: { grown: kind } }];
  const high = { callsPerDay: 200_000 };
  const low = { callsPerDay: 10_000 };
  return [
    { name: 'load high to low', before: high, after: low },
    { name: 'load low to high', before: low, after: high },
  ];
}

export function changeRows(
  tools: StudyTools,
  { heldOut, perScenario, beforeEpisodes, afterEpisodes }: AwareStudyRequest,
  told: (list: readonly LifeCycleTransition[]) => void,
): { readonly scenarios: ScenarioRow[]; readonly serving: ServingFigures } {
  interface Run {
    readonly before: readonly EpisodeRecord[];
    readonly retrained: readonly EpisodeRecord[];
    readonly frozen: readonly EpisodeRecord[];
    readonly noticed: number;
  }
  const all: Run[] = [];
  const scenarios: ScenarioRow[] = [];
  for (const scenario of Object.keys(CHANGE_SCENARIOS) as ChangeScenario[]) {
    const kind = CHANGE_SCENARIOS[scenario];
    const touched = heldOut.filter(({ segments }) =>
      segments.some((segment) => kind === undefined || SEGMENTS[segment].input === kind),
    );
    // With a few applications only, a scenario may change none of them.
    if (touched.length === 0) continue;
    for (const { name, before, after } of changesOf(scenario)) {
      const runs = pairsOf(touched, perScenario).map((paired): Run => {
        const play = (retrains: boolean) => {
          const { pupil, system, records } = servingPupil(tools, paired, before, beforeEpisodes, retrains);
          const changed = demandOf(paired.app, after);
          system.change(changed);
          const later: EpisodeRecord[] = [];
          let noticed = afterEpisodes;
          for (let i = 0; i < afterEpisodes; i++) {
            later.push(pupil.episode(system));
            if (noticed === afterEpisodes && pupil.transitions.length > 0) noticed = i + 1;
          }
          if (retrains) told(pupil.transitions);
          pupil.dispose();
          return { before: records, later, noticed };
        };
        const retrained = play(true);
        return {
          before: retrained.before,
          retrained: retrained.later,
          frozen: play(false).later,
          noticed: retrained.noticed,
        };
      });
      all.push(...runs);
      const levels = runs.map(({ retrained }) => shareOf(meanOfRecords(retrained.slice(-20), 'earned'), CONVERGED));
      const recovered = runs.map(({ retrained }, i) => episodesToReach(retrained, levels[i]!));
      scenarios.push({
        scenario: name,
        runs: runs.length,
        drop: bootstrapMean(
          runs.map(
            ({ before: old, retrained }) =>
              1 - meanOfRecords(retrained.slice(0, 10), 'earned') / meanOfRecords(old.slice(-20), 'earned'),
          ),
        ),
        noticed: bootstrapMean(runs.map((run) => run.noticed)),
        recovered: bootstrapMean(recovered.map((one) => one ?? afterEpisodes)),
        reached: recovered.filter((one) => one !== null).length,
      });
    }
  }
  const ratio = (figure: RecordFigure): Interval =>
    bootstrapMean(
      all.map(({ retrained, frozen }) => meanOfRecords(retrained, figure) / meanOfRecords(frozen, figure) - 1),
    );
  return {
    scenarios,
    serving: {
      runs: all.length,
      cpu: ratio('cpu'),
      memory: ratio('memory'),
      earned: ratio('earned'),
      missed: bootstrapMean(all.map(({ retrained }) => meanOfRecords(retrained, 'missed'))),
      missedWithout: bootstrapMean(all.map(({ frozen }) => meanOfRecords(frozen, 'missed'))),
      belowConverged: bootstrapMean(
        all.map(
          ({ before, retrained }) =>
            1 - meanOfRecords(retrained.slice(-20), 'earned') / meanOfRecords(before.slice(-20), 'earned'),
        ),
      ),
    },
  };
}

/** An agent of AWARE's that has learnt a workload and serves it: under its life cycle, or for ever. */
function servingPupil(
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
  const common = { engine, seed, ppo: carefulPpo, encoder: meta.encoder, transfer: false, fallback } as const;
  const learner = new AwarePupil({ ...common, course: 'online', start: meta.base });
  const records = playPupil(learner, system, episodes);
  const pupil = new AwarePupil({
    ...common,
    course: retrains ? 'life-cycle' : 'serving',
    start: learner.apprentice.agent.export(),
    begin: servingCourse(records),
  });
  for (const trajectory of learner.bundle.trajectories) pupil.bundle.add(trajectory);
  learner.dispose();
  return { pupil, system, records };
}

const LEARNING = ['scratch', 'bootstrap', 'aware'] as const;

const BEGINNING: readonly AwareContender[] = [...LEARNING, 'clone', 'hpa-vpa', 'kpa'];

/** All contenders on one new workload. */
export function bootstrapRun(
  tools: StudyTools,
  { heldOut, pairs, bootstrapEpisodes }: AwareStudyRequest,
  pair: number,
  told: (list: readonly LifeCycleTransition[]) => void,
): (readonly EpisodeRecord[])[] {
  const paired = pairsOf(heldOut, pairs)[pair]!;
  return BEGINNING.map((name): readonly EpisodeRecord[] => {
    if (name === 'clone') return cloneEpisodes(tools, paired, 10, bootstrapEpisodes);
    if (name === 'hpa-vpa' || name === 'kpa') return ruleBased(name, paired, bootstrapEpisodes);
    const pupil = pupilFor(name as (typeof LEARNING)[number], tools, paired, null);
    const records = playPupil(pupil, new AwareSystem(demandOf(paired.app), paired.seed), bootstrapEpisodes);
    told(pupil.transitions);
    pupil.dispose();
    return records;
  });
}

export function bootstrapRows(
  runs: readonly (readonly (readonly EpisodeRecord[])[])[],
  bootstrapEpisodes: number,
): BootstrapRow[] {
  const names = BEGINNING;
  const rule = names.indexOf('hpa-vpa');
  const hundreds = Math.max(1, Math.floor(bootstrapEpisodes / FIRST));
  const length = Math.min(FIRST, bootstrapEpisodes);
  return names.map((contender, column) => ({
    contender,
    pairs: runs.length,
    hundreds: Array.from({ length: hundreds }, (_, hundred) => {
      const part = (records: readonly EpisodeRecord[]) => records.slice(hundred * length, (hundred + 1) * length);
      const against = (figure: RecordFigure): Interval =>
        bootstrapMean(
          runs.map((run) => meanOfRecords(part(run[column]!), figure) / meanOfRecords(part(run[rule]!), figure) - 1),
        );
      const own = (figure: RecordFigure): Interval =>
        bootstrapMean(runs.map((run) => meanOfRecords(part(run[column]!), figure)));
      return { cpu: against('cpu'), memory: against('memory'), missed: own('missed'), earned: own('earned') };
    }),
    missed: bootstrapMean(runs.map((run) => meanOfRecords(run[column]!, 'missed'))),
    earned: bootstrapMean(runs.map((run) => meanOfRecords(run[column]!, 'earned'))),
  }));
}
