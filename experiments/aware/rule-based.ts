import { aimedStep, metaReward } from '../../agents/aware/index.js';
import { NO_TARGET, type ResourceManager } from '../../agents/index.js';
import { HPA_VPA_DEFAULT, hpaVpaManager, kpaManager } from '../../agents/managers/index.js';
import type { Observation } from '../../broker/messages/index.js';
import { type Bytes, MIB, type Millicores, type Millis, SeededRandom } from '../../config/index.js';
import { type AwareAllocation, INITIAL } from './allocation.js';
import type { Demand } from './demand.js';
import { AwareSystem, STEP_SECONDS, type SystemSnapshot } from './system.js';

/** Decides on what is given in the next step. */
export interface Controller {
  decide(snapshot: SystemSnapshot): AwareAllocation;
}

/**
 * Samples that stand for a step's latencies: managers read quantiles and sums of them, not counts.
 */
const SAMPLES = 100;

/** A step as a hook would publish it, for the managers that decide on live systems. */
export function observationOf(
  snapshot: SystemSnapshot,
  step: number,
  perContainer: number,
): Observation {
  const { allocation, mean, p99, rate } = snapshot;
  const cpu = Math.round(1000 * allocation.cpu) as Millicores;
  const memory = Math.round(MIB * allocation.memory) as Bytes;
  const used = {
    cpu: (1000 * (snapshot.cpuUse / allocation.containers)) as Millicores,
    memory: Math.round(MIB * snapshot.memoryUse) as Bytes,
  };
  const activations = Math.round(rate * STEP_SECONDS);
  return {
    v: 1,
    function: '/aware/app',
    host: 'cluster',
    boot: 'aware',
    step,
    observedAt: (1000 * STEP_SECONDS * step) as Millis,
    span: (1000 * STEP_SECONDS) as Millis,
    mode: 'enforce',
    cpuMode: 'quota',
    activations,
    coldStarts: 0,
    failures: 0,
    oomKills: snapshot.oomKills,
    running: Math.round(rate * mean),
    latency: { first: 100, counts: [SAMPLES], sum: activations * mean * 1000, max: p99 * 1000 },
    peak: used,
    used,
    throttledShare: 0,
    user: {
      cpu: (1000 * INITIAL.cpu) as Millicores,
      memory: (INITIAL.memory * MIB) as Bytes,
      shares: 1024,
    },
    granted: {
      cpu: { min: cpu, mean: cpu, max: cpu },
      memory: { min: memory, mean: memory, max: memory },
    },
    demand: { cpu, memory },
    containers: allocation.containers,
    concurrency: perContainer,
    control: { activations: 0, mean: 0, p99: 0 },
    slo: (1000 * snapshot.slo) as Millis,
  };
}

/**
 * Activations at once that keep a core busy: what an operator would set as a container's
 * concurrency.
 */
export const callsPerCore = ({ cpu, wait }: Demand): number =>
  Math.max(1, Math.round((cpu + wait) / cpu));

/** A manager of agents/managers as the controller of an `AwareSystem`. */
class ManagedController implements Controller {
  readonly #manager: ResourceManager;
  readonly #perContainer: number;
  #state: unknown;
  #step = 0;
  readonly #random = new SeededRandom(1);

  constructor(manager: ResourceManager, perContainer: number) {
    this.#manager = manager;
    this.#perContainer = perContainer;
    this.#state = manager.initialState('/aware/app');
  }

  decide(snapshot: SystemSnapshot): AwareAllocation {
    const observation = observationOf(snapshot, ++this.#step, this.#perContainer);
    const view = { observation, features: [], others: null, price: null, random: this.#random };
    const { state, decision } = this.#manager.decide(this.#state, view, observation.observedAt);
    this.#state = state;
    const { cpu, memory, containers } = decision ?? NO_TARGET;
    return {
      cpu: cpu === undefined ? snapshot.allocation.cpu : cpu / 1000,
      memory: memory === undefined ? snapshot.allocation.memory : memory / MIB,
      containers: containers ?? snapshot.allocation.containers,
    };
  }
}

/**
 * What of HPA+VPA is tuned: the CPU use that HPA aims at, and the least CPU that VPA may leave a
 * container (MPA's `constraints`).
 */
export interface Tuning {
  readonly target: number;
  /** Cores. */
  readonly least: number;
}

/**
 * [AWARE] takes the highest target that still holds the SLO; without a floor VPA makes containers
 * so small that none does.
 */
export const TUNINGS: readonly Tuning[] = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9].flatMap((target) =>
  [0.256, 0.512, 1.024].map((least) => ({ target, least })),
);
/** Steps of one trial, and how much of it is the way there. */
const TRIAL = 120;
const SETTLING = 40;
/**
 * Share of steps in which an SLO that holds may be missed (AWARE's rule-based controller: 5 of 100
 * episodes).
 */
const MISSED = 0.05;

/** AWARE's rule-based baseline. */
export function hpaVpaController(demand: Demand, { target, least }: Tuning): Controller {
  const { hpa, vpa } = HPA_VPA_DEFAULT;
  const constants = {
    ...HPA_VPA_DEFAULT,
    hpa: { ...hpa, target },
    vpa: { ...vpa, minCpu: 1000 * least },
  };
  return new ManagedController(hpaVpaManager(constants) as ResourceManager, callsPerCore(demand));
}

export const kpaController = (demand: Demand): Controller =>
  new ManagedController(kpaManager() as ResourceManager, callsPerCore(demand));

/** What a rule is tuned to hold: what agents aim at, a share of the SLO, or the SLO itself. */
export type TunedFor = 'aim' | 'slo';

/**
 * The setting that earns most of those that hold the objective on this demand; the one that misses
 * least if none does. With activations of its own.
 */
export function tuned(demand: Demand, seed: number, objective: TunedFor = 'aim'): Tuning {
  const trials = TUNINGS.map((tuning) => {
    const system = new AwareSystem(demand, seed);
    const controller = hpaVpaController(demand, tuning);
    let snapshot = system.step(INITIAL);
    let missed = 0;
    let earned = 0;
    for (let i = 0; i < TRIAL; i++) {
      snapshot = system.step(controller.decide(snapshot));
      if (i < SETTLING) continue;
      const judged = objective === 'aim' ? aimedStep(snapshot) : snapshot;
      missed += Number(judged.preservation < 1);
      earned += metaReward(judged);
    }
    return { tuning, missed, earned };
  });
  const holding = trials.filter(({ missed }) => missed <= MISSED * (TRIAL - SETTLING));
  const [best] =
    holding.length > 0
      ? holding.sort((a, b) => b.earned - a.earned)
      : trials.sort((a, b) => a.missed - b.missed || b.earned - a.earned);
  return best!.tuning;
}
