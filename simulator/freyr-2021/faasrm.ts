import type { Random } from '../../config/index.js';
import {
  amountFeature,
  Choice,
  durationFeature,
  OptionScorer,
  rateFeature,
  shareFeature,
} from '../../openwhisk-plugin/decision/index.js';
import { LEVELS } from '../../rules/index.js';
import type { FunctionHistory } from './function-history.js';
import type { PublishedManager } from './managers.js';
import type { Request } from './request.js';
import { type Allocation, durationOf, RULES } from './rules.js';
import { safeguardRange } from './safeguard-range.js';

/** Ticks and seconds are one here; features are of ms. */
const SECOND = 1000;
const CLUSTER_CPU = RULES.servers * RULES.serverCpu;
const CLUSTER_MEMORY = RULES.servers * RULES.serverMemory;

/** Called with the result of a choice when its own request has succeeded. */
type PublishedExperienceListener = (choice: Readonly<Choice>, rfet: number, fn: number) => void;

export interface PublishedLearner {
  /** 929 weights of the actor. */
  readonly actor: Float32Array;
  readonly version: number;
  /** Samples from the softmax and reports each result; null: takes the highest score. */
  readonly experiences: PublishedExperienceListener | null;
}

/** Means that the published manager keeps of a function, over its whole history. [Freyr-sim] */
class Means {
  #first = -1;
  #last = -1;
  #activations = 0;
  #gaps = 0;
  #gapSum = 0;
  #ended = 0;
  #cpu = 0;
  #memory = 0;
  #ticks = 0;

  called(second: number): void {
    if (this.#first < 0) this.#first = second;
    const gap = second - this.#last;
    if (this.#activations > 0 && gap > 0) {
      this.#gaps++;
      this.#gapSum += gap;
    }
    this.#last = second;
    this.#activations++;
  }

  ended({ cpu, memory }: Allocation, ticks: number): void {
    this.#ended++;
    this.#cpu += cpu;
    this.#memory += memory;
    this.#ticks += ticks;
  }

  fill(into: Float32Array, { fn }: FunctionHistory, second: number): void {
    const span = second - this.#first;
    into[3] = durationFeature(SECOND * (this.#gapSum / this.#gaps));
    into[4] = rateFeature(span > 0 ? this.#activations / span : 0);
    into[5] = amountFeature(this.#cpu / this.#ended, fn.user.cpu);
    into[6] = amountFeature(this.#memory / this.#ended, fn.user.memory);
    into[7] = durationFeature(SECOND * (this.#ticks / this.#ended));
    into[8] = durationFeature(SECOND * durationOf(fn, fn.user));
  }
}

/** State of the cluster: sums over all servers. */
export interface PublishedSnapshot {
  readonly second: number;
  readonly inFlight: number;
  /** In units. */
  readonly freeCpu: number;
  readonly freeMemory: number;
}

/**
 * FaaSRM by these rules, with the published learner's faults repaired: inputs normalized, each
 * choice paired with its own result, no sampling at evaluation. The rules are unchanged: a choice
 * takes effect at the function's next request.
 */
export class PublishedFaasrm {
  readonly #scorer: OptionScorer;
  readonly #learner: PublishedLearner;
  readonly #random: Random;
  readonly #snapshot: () => PublishedSnapshot;
  readonly #means = new Map<number, Means>();
  /** By the chosen allocation object: each belongs to one request. */
  readonly #choices = new WeakMap<Allocation, Choice>();

  constructor(learner: PublishedLearner, snapshot: () => PublishedSnapshot, random: Random) {
    this.#learner = learner;
    this.#scorer = new OptionScorer(learner.actor);
    this.#snapshot = snapshot;
    this.#random = random;
  }

  readonly decide: PublishedManager = (history) => {
    const { second, inFlight, freeCpu, freeMemory } = this.#snapshot();
    const means = this.#meansOf(history.fn.index);
    means.called(second);
    const cpu = safeguardRange(history, 'cpu');
    const memory = safeguardRange(history, 'memory');
    const choice = new Choice();
    choice.version = this.#learner.version;
    choice.cpus = Math.min(LEVELS, cpu.upper - cpu.lower + 1);
    choice.memories = Math.min(LEVELS, memory.upper - memory.lower + 1);
    choice.state[0] = shareFeature(inFlight, inFlight + CLUSTER_CPU);
    choice.state[1] = shareFeature(freeCpu, CLUSTER_CPU);
    choice.state[2] = shareFeature(freeMemory, CLUSTER_MEMORY);
    means.fill(choice.state, history, second);
    const { user } = history.fn;
    for (let i = 0; i < choice.cpus; i++) choice.cpu[i] = amountFeature(cpu.lower + i, user.cpu);
    for (let i = 0; i < choice.memories; i++)
      choice.memory[i] = amountFeature(memory.lower + i, user.memory);
    choice.option = this.#choose(choice);
    const allocation = {
      cpu: cpu.lower + Math.floor(choice.option / choice.memories),
      memory: memory.lower + (choice.option % choice.memories),
    };
    choice.share = allocation.cpu / CLUSTER_CPU;
    this.#choices.set(allocation, choice);
    return allocation;
  };

  ended(request: Request, peak: Allocation): void {
    const { fn, allocation, outcome, progress } = request;
    this.#meansOf(fn.index).ended(peak, request.coldTicks + progress);
    const { experiences } = this.#learner;
    const choice = this.#choices.get(allocation);
    if (experiences === null || choice === undefined || choice.options < 2 || outcome !== 'success')
      return;
    experiences(choice, progress / durationOf(fn, fn.user), fn.index);
  }

  #choose(choice: Choice): number {
    const { options } = choice;
    if (options < 2) return 0;
    const scorer = this.#scorer;
    scorer.features.set(choice.state);
    scorer.cpu.set(choice.cpu);
    scorer.memory.set(choice.memory);
    scorer.score(choice.cpus, choice.memories);
    const option =
      this.#learner.experiences === null
        ? scorer.best(options)
        : scorer.sample(options, this.#random.next());
    if (option < 0) throw new RangeError('a score is not finite');
    choice.logProbability = scorer.logProbability(options, option);
    return option;
  }

  #meansOf(fn: number): Means {
    let means = this.#means.get(fn);
    if (means === undefined) {
      means = new Means();
      this.#means.set(fn, means);
    }
    return means;
  }
}
