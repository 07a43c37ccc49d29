import { fileURLToPath } from 'node:url';
import {
  Encoder,
  LIFE_CYCLE_INITIAL,
  LIFE_CYCLE_RUN_INITIAL,
  type LifeCycleRunState,
  type LifeCycleTransition,
  lifeCycleSettings,
  loadMeta,
  type MetaLearner,
  windowFigures,
} from '../../agents/aware/index.js';
import type { Engine } from '../../agents/nn/index.js';
import type { AwareApp } from '../../simulator/workload/index.js';
import { mean } from '../statistics.js';
import { bestConstant } from './constant.js';
import { type Condition, type Demand, demandOf } from './demand.js';
import {
  AgentRun,
  agentPpo,
  conservativePpo,
  controlledEpisode,
  type EpisodeRecord,
} from './episodes.js';
import {
  type Controller,
  hpaVpaController,
  kpaController,
  type TunedFor,
  type Tuning,
  tuned,
} from './rule-based.js';
import { AwareSystem, type SystemSnapshot } from './system.js';

/** How a paired run is played: the same application, activations and seeds for all contenders. */
export interface Paired {
  readonly app: AwareApp;
  readonly seed: number;
}

export const CONTENDERS = [
  'fixed',
  'constant',
  'kpa',
  'hpa-vpa',
  'hpa-vpa-slo',
  'clone',
  'scratch',
  'bootstrap',
  'tl',
  'tl-plus',
  'zeroed',
  'generalist',
  'aware-online',
  'aware',
] as const;
export type AwareContender = (typeof CONTENDERS)[number];

/** One contender's episodes on a workload, and what its life cycle did. */
export interface ContenderRun {
  readonly name: AwareContender;
  readonly records: readonly EpisodeRecord[];
  /** As 'offline → online', in their order. */
  readonly transitions: readonly string[];
}

export const named = (transitions: readonly LifeCycleTransition[]): string[] =>
  transitions.map(({ from, to }) => `${from} → ${to}`);

export interface StudyTools {
  readonly engine: Engine;
  readonly meta: MetaLearner;
  /** A base-learner that was trained without embeddings, in as many updates: the generalist's. */
  readonly unconditioned: MetaLearner;
}

const UNCONDITIONED = fileURLToPath(
  new URL('../../../experiments/aware/shipped/', import.meta.url),
);

/** Written by `gleaner train-meta --without-embedding`. */
export const unconditionedMeta = (): MetaLearner => loadMeta(UNCONDITIONED);

/** Weights of 0 make every embedding zeros, as of a workload without episodes. */
export const blindEncoder = ({ shape }: Encoder): Encoder => new Encoder(shape);

/** Seeds of the activations that HPA and VPA are tuned on: none that is played. */
const TUNING_SEED = 1_000_003;

/** Of each demand and seed, once: it is asked for by every contender of a pair. */
const tunings = new Map<string, Tuning>();

export function tuningOf(
  { app, seed }: Paired,
  condition: Condition = {},
  objective: TunedFor = 'aim',
): Tuning {
  const { grown, activationsPerDay } = condition;
  const key = `${app.id} ${seed} ${grown ?? ''} ${activationsPerDay ?? ''} ${objective}`;
  let tuning = tunings.get(key);
  if (tuning === undefined) {
    tuning = tuned(demandOf(app, condition), TUNING_SEED + seed, objective);
    tunings.set(key, tuning);
  }
  return tuning;
}

function ruleEpisodes(
  demand: Demand,
  controller: Controller,
  episodes: number,
  seed: number,
): EpisodeRecord[] {
  const system = new AwareSystem(demand, seed);
  let snapshot: SystemSnapshot | null = null;
  return Array.from({ length: episodes }, () => {
    const episode = controlledEpisode(system, controller, snapshot);
    snapshot = episode.snapshot;
    return episode.record;
  });
}

export function ruleBased(
  name: 'fixed' | 'constant' | 'kpa' | 'hpa-vpa' | 'hpa-vpa-slo',
  paired: Paired,
  episodes: number,
): EpisodeRecord[] {
  const demand = demandOf(paired.app);
  const controllers: Record<typeof name, () => Controller> = {
    fixed: () => ({ decide: ({ allocation }) => allocation }),
    constant: () => ({ decide: bestConstant }),
    kpa: () => kpaController(demand),
    'hpa-vpa': () => hpaVpaController(demand, tuningOf(paired)),
    'hpa-vpa-slo': () => hpaVpaController(demand, tuningOf(paired, {}, 'slo')),
  };
  return ruleEpisodes(demand, controllers[name](), episodes, paired.seed);
}

/** What a converged agent's life cycle says: it serves, and this is what it earned. */
export function servingCourse(records: readonly EpisodeRecord[]): LifeCycleRunState {
  const reference = windowFigures(
    records.slice(-2 * lifeCycleSettings.window).map(({ learned }) => learned),
  );
  return {
    ...LIFE_CYCLE_RUN_INITIAL,
    life: { ...LIFE_CYCLE_INITIAL, phase: 'serving', reference },
  };
}

/** A learning contender on a new workload; `source`: what TL and TL+ were trained on before. */
export function agentRunFor(
  name: 'scratch' | 'bootstrap' | 'tl' | 'tl-plus' | 'generalist' | 'aware-online' | 'aware',
  { engine, meta, unconditioned }: StudyTools,
  paired: Paired,
  source: AgentRun | null,
): AgentRun {
  const demand = demandOf(paired.app);
  const withMeta = name === 'aware' || name === 'aware-online' || name === 'generalist';
  const { base, encoder } =
    name === 'generalist'
      ? { base: unconditioned.base, encoder: blindEncoder(unconditioned.encoder) }
      : meta;
  const guided = name === 'aware' || name === 'bootstrap';
  return new AgentRun({
    engine,
    course: guided ? 'life-cycle' : 'online',
    seed: paired.seed,
    ppo: withMeta || name === 'bootstrap' ? conservativePpo : agentPpo,
    start: withMeta ? base : source === null ? null : source.learner.agent.export(),
    encoder: withMeta ? encoder : null,
    transfer: name === 'tl-plus',
    fallback: hpaVpaController(demand, tuningOf(paired)),
  });
}

export function playEpisodes(
  agentRun: AgentRun,
  system: AwareSystem,
  episodes: number,
): EpisodeRecord[] {
  return Array.from({ length: episodes }, () => agentRun.episode(system));
}

/** TL's and TL+'s beginning: an agent that has learned one workload from nothing. */
export function trainedOn(
  { engine }: StudyTools,
  app: AwareApp,
  transfer: boolean,
  episodes: number,
  seed: number,
): { readonly agentRun: AgentRun; readonly earned: number } {
  const demand = demandOf(app);
  const agentRun = new AgentRun({
    engine,
    course: 'online',
    seed,
    ppo: agentPpo,
    start: null,
    encoder: null,
    transfer,
    fallback: { decide: ({ allocation }) => allocation },
  });
  const records = playEpisodes(agentRun, new AwareSystem(demand, seed), episodes);
  return { agentRun, earned: meanOfRecords(records.slice(-20), 'earned') };
}

/**
 * Behavior cloning alone: what the fallback did, learned from its first episodes, and never
 * anything more.
 */
export function cloneEpisodes(
  tools: StudyTools,
  paired: Paired,
  watched: number,
  episodes: number,
): EpisodeRecord[] {
  const demand = demandOf(paired.app);
  const system = new AwareSystem(demand, paired.seed);
  const demonstrator = new AgentRun({
    engine: tools.engine,
    course: 'life-cycle',
    seed: paired.seed,
    ppo: agentPpo,
    start: null,
    encoder: null,
    transfer: false,
    fallback: hpaVpaController(demand, tuningOf(paired)),
    cloneOnly: true,
  });
  const first = playEpisodes(demonstrator, system, watched);
  const agentRun = new AgentRun({
    engine: tools.engine,
    course: 'serving',
    seed: paired.seed,
    ppo: agentPpo,
    start: demonstrator.learner.agent.export(),
    encoder: null,
    transfer: false,
    fallback: { decide: ({ allocation }) => allocation },
  });
  const rest = playEpisodes(agentRun, system, episodes - watched);
  demonstrator.dispose();
  agentRun.dispose();
  return [...first, ...rest];
}

export type RecordFigure = 'earned' | 'missed' | 'preservation' | 'cpu' | 'memory';

export const meanOfRecords = (records: readonly EpisodeRecord[], figure: RecordFigure): number =>
  mean(records.map((record) => record[figure]));

/** Episodes of a moving mean: the life cycle's window. */
const WINDOW = lifeCycleSettings.window;

/** Best mean of ten episodes in a row. */
export function bestWindow(records: readonly EpisodeRecord[]): number {
  let best = Number.NEGATIVE_INFINITY;
  for (let end = WINDOW; end <= records.length; end++)
    best = Math.max(best, meanOfRecords(records.slice(end - WINDOW, end), 'earned'));
  return best;
}

/**
 * Episodes until the mean of ten in a row first reaches a level; null: never in these. Ten at the
 * least.
 */
export function episodesToReach(records: readonly EpisodeRecord[], level: number): number | null {
  for (let end = WINDOW; end <= records.length; end++)
    if (meanOfRecords(records.slice(end - WINDOW, end), 'earned') >= level) return end;
  return null;
}
