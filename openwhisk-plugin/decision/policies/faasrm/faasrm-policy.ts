import { LEVELS } from '../../../../rules/index.js';
import type { Run } from '../../container-state.js';
import type { FunctionState } from '../../function-state.js';
import { Grant } from '../../grant.js';
import { memoryRange } from '../../safeguard.js';
import type { DecisionSettings } from '../../settings.js';
import type { ActivationPolicy, PolicyContext } from '../activation-policy.js';
import { Choice, slowdownOf } from './experience.js';
import { amountFeature, FunctionStatistics, fillState } from './features.js';
import { fillAmounts } from './options.js';
import { OptionScorer } from './scorer.js';
import { ACTOR_WEIGHTS, type FaasrmParameters } from './weights.js';

/**
 * Belongs to the function and not to weights: new ones go on with what is known. Forgotten with it.
 */
const statisticsByFunction = new WeakMap<FunctionState, FunctionStatistics>();

function statisticsOf(fn: FunctionState): FunctionStatistics {
  let statistics = statisticsByFunction.get(fn);
  if (statistics === undefined) {
    statistics = new FunctionStatistics();
    statisticsByFunction.set(fn, statistics);
  }
  return statistics;
}

/** What was chosen for a run; run objects are reused, and so is this. */
class RunChoice extends Choice {
  startedAt = Number.NaN;
  /** Millicores; NaN where CPU was not this policy's to choose. */
  cpuAmount = Number.NaN;
  /** Bytes, for the question that follows the one about CPU. */
  memoryAmount = Number.NaN;
}

/**
 * FaaSRM's learned choice [FaaSRM §4]: a network 11-32-16-1 scores each option that the safeguard
 * allows, CPU and memory together, and the highest score is taken. Under memory policy `guarantee`
 * the only amount of memory is the user's, which leaves 8 of 64 options.
 *
 * Differences from the published program [Freyr]: inputs are normalized, evaluation does not
 * sample, and a choice acts on this activation and receives its outcome (experience.ts).
 */
export class FaasrmPolicy implements ActivationPolicy {
  readonly name = 'faasrm';
  readonly kind = 'range';
  readonly #scorer: OptionScorer | null;
  readonly #explores: boolean;
  readonly #version: number;
  readonly #choices = new WeakMap<Run, RunChoice>();
  readonly #range = new Grant();
  readonly #cpu = new Float64Array(LEVELS);
  readonly #memory = new Float64Array(LEVELS);

  /**
   * `weights`: 1,858 that have been checked; none: user limits until some come. @throws
   * ScorerUnavailableError
   */
  constructor(weights: readonly number[] = [], parameters?: FaasrmParameters) {
    this.#scorer =
      weights.length === 0
        ? null
        : new OptionScorer(Float32Array.from(weights.slice(0, ACTOR_WEIGHTS)));
    this.#explores = parameters?.explore ?? false;
    this.#version = parameters?.version ?? 0;
  }

  choose(run: Run, grant: Grant, context: PolicyContext): number {
    const scorer = this.#scorer;
    if (scorer === null) return Number.NaN;
    let choice = this.#choices.get(run);
    if (choice === undefined) {
      choice = new RunChoice();
      this.#choices.set(run, choice);
    }
    const { settings } = context;
    if (grant !== run.cpu) {
      // With a quota both were chosen when CPU was asked for.
      if (choice.startedAt === run.startedAt) return choice.memoryAmount;
      const { user } = run.cpu;
      const memories = amountsOf(this.#memory, grant, settings.memoryUnit, settings);
      this.#cpu[0] = user;
      choice.cpuAmount = Number.NaN;
      return this.#choose(scorer, run, choice, 1, memories, context) < 0
        ? Number.NaN
        : choice.memoryAmount;
    }
    const cpus = amountsOf(this.#cpu, grant, settings.cpuUnit, settings);
    const memories = this.#memoryAmounts(run, settings);
    const chosen = this.#choose(scorer, run, choice, cpus, memories, context);
    choice.cpuAmount =
      chosen < 0 ? Number.NaN : (this.#cpu[Math.floor(chosen / memories)] as number);
    return choice.cpuAmount;
  }

  learn(run: Run, duration: number, { settings, experiences }: PolicyContext, now: number): void {
    const statistics = statisticsOf(run.fn);
    statistics.cpuPeak.add(run.cpu.peak >= 0 ? run.cpu.peak : Number.NaN, now, settings.halfLife);
    statistics.memoryPeak.add(
      run.memory.peak >= 0 ? run.memory.peak : Number.NaN,
      now,
      settings.halfLife,
    );
    // What was not put in force has no outcome.
    if (experiences === null || !this.#explores || !run.enforced) return;
    const choice = this.#choices.get(run);
    if (choice === undefined || choice.startedAt !== run.startedAt || choice.options < 2) return;
    // An operator's bounds have bent it: the outcome is of another choice. What the pool had less
    // is the host's answer, and is learned from.
    if (choice.cpuAmount > 0 && run.cpu.demand !== choice.cpuAmount) return;
    const slowdown = slowdownOf(run, duration, statistics.cpuPeak.mean);
    if (slowdown > 0) experiences(choice, slowdown, run.fn);
  }

  /** The option, or -1; `choice` is filled. The amounts stand in `#cpu` and `#memory`. */
  #choose(
    scorer: OptionScorer,
    run: Run,
    choice: RunChoice,
    cpus: number,
    memories: number,
    context: PolicyContext,
  ): number {
    const { fn, startedAt } = run;
    const statistics = statisticsOf(fn);
    if (!run.isRest) statistics.started(fn, startedAt, context.settings);
    choice.startedAt = startedAt;
    choice.cpus = cpus;
    choice.memories = memories;
    choice.version = this.#version;
    const { user: userCpu } = run.cpu;
    const { user: userMemory } = run.memory;
    fillState(choice.state, run, statistics, context, startedAt);
    for (let i = 0; i < cpus; i++) choice.cpu[i] = amountFeature(this.#cpu[i] as number, userCpu);
    for (let i = 0; i < memories; i++)
      choice.memory[i] = amountFeature(this.#memory[i] as number, userMemory);
    const options = cpus * memories;
    let option = 0;
    if (options > 1) {
      scorer.features.set(choice.state);
      scorer.cpu.set(choice.cpu);
      scorer.memory.set(choice.memory);
      scorer.score(cpus, memories);
      option = this.#explores
        ? scorer.sample(options, context.random.next())
        : scorer.best(options);
      if (option >= 0 && this.#explores)
        choice.logProbability = scorer.logProbability(options, option);
    }
    choice.option = option;
    choice.share =
      option < 0 ? 0 : (this.#cpu[Math.floor(option / memories)] as number) / context.host.cpu;
    choice.memoryAmount = option < 0 ? Number.NaN : (this.#memory[option % memories] as number);
    return option;
  }

  #memoryAmounts(run: Run, settings: DecisionSettings): number {
    const { fn, memory } = run;
    this.#memory[0] = memory.user;
    if (run.control || fn.memoryPolicy !== 'faasrm' || !(memory.user > 0)) return 1;
    const range = this.#range;
    range.reset(memory.user);
    memoryRange(range, fn, settings, run.startedAt);
    return amountsOf(this.#memory, range, settings.memoryUnit, settings);
  }
}

/** Whole units in the published presets only. */
function amountsOf(
  into: Float64Array,
  { lower, upper }: Grant,
  unit: number,
  { preset }: DecisionSettings,
): number {
  return fillAmounts(into, lower, upper, preset === 'default' ? 0 : unit);
}
