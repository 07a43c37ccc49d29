import type { LatencyHistogramMessage } from '../../broker/messages/index.js';
import type { FunctionView, HostView } from '../../broker/services/index.js';
import { OVERVIEW_COLUMNS, type OverviewColumn, type Totals } from '../wire.js';
import type { FunctionRegistry } from './function-registry.js';
import type { HostRegistry } from './host-registry.js';
import { ObjectiveWindow } from './objectives.js';
import { RATE_WINDOW, RateWindow } from './rates.js';
import { Series } from './series.js';

/** A quarter of an hour, one point per second. */
const POINTS = 900;
const SECOND = 1000;
const MINUTE = 60_000;
const SLO_WINDOW = 5 * MINUTE;

/** Since the hook's start: core-seconds, and seconds saved. */
interface Harvest {
  readonly harvested: number;
  readonly lent: number;
  readonly saved: number;
}

/** Sums over all functions and hosts, now and over the last quarter of an hour. Times in ms. */
export class Overview {
  readonly series = new Series<OverviewColumn>(OVERVIEW_COLUMNS, POINTS);
  /** Agents by life-cycle phase, and by manager. */
  agents: Pick<Totals, 'phases' | 'managers'> = { phases: {}, managers: {} };
  readonly #functions: FunctionRegistry;
  readonly #hosts: HostRegistry;
  readonly #objectives = new ObjectiveWindow(SLO_WINDOW);
  readonly #harvested = new RateWindow(RATE_WINDOW);
  readonly #lent = new RateWindow(RATE_WINDOW);
  readonly #activations = new RateWindow(RATE_WINDOW);
  readonly #safeguards: number[] = [];
  readonly #safeguardTotals = new Map<string, number>();
  /** By host. */
  readonly #harvestTotals = new Map<string, Harvest>();

  constructor(functions: FunctionRegistry, hosts: HostRegistry) {
    this.#functions = functions;
    this.#hosts = hosts;
  }

  /** Counts the warm activations of a step of a function that has an objective. */
  judge(at: number, warm: LatencyHistogramMessage, slo: number): void {
    this.#objectives.take(at, warm, slo);
  }

  safeguard(at: number): void {
    this.#safeguards.push(at);
  }

  /**
   * Called after each answer of a hook, when its functions are in the registry. `safeguards`: since
   * the hook's start.
   */
  host(view: HostView, at: number, safeguards: number): void {
    const { host, activations } = view;
    const harvest = this.#harvestOf(view);
    this.#harvestTotals.set(host, harvest);
    this.#safeguardTotals.set(host, safeguards);
    const rate = this.#hosts.rateOf(host);
    this.#harvested.take(host, at, harvest.harvested, rate);
    this.#lent.take(host, at, harvest.lent, rate);
    this.#activations.take(host, at, activations, rate);
  }

  /** A host is gone, or its hook restarted and counts from zero. */
  forget(host: string): void {
    this.#safeguardTotals.delete(host);
    this.#harvestTotals.delete(host);
    for (const window of [this.#harvested, this.#lent, this.#activations]) window.forget(host);
  }

  totals(now: number): Totals {
    const slo = this.#objectives.view(now);
    while (this.#safeguards.length > 0 && this.#safeguards[0]! < now - MINUTE)
      this.#safeguards.shift();
    return {
      harvestedCores: this.#harvested.rate(now) ?? 0,
      lentCores: this.#lent.rate(now) ?? 0,
      ...this.#sums(),
      sloKept: slo.share,
      sloActivations: Math.round(slo.activations),
      safeguardRate: this.#safeguards.length,
      safeguardTotal: total([...this.#safeguardTotals.values()], (count) => count),
      activationRate: this.#activations.rate(now) ?? 0,
      verdict: this.#hosts.verdict(),
      ...this.agents,
    };
  }

  /** Adds a point to the plots, as soon as a host is known. */
  record(now: number): void {
    const hosts = this.#hosts.rows();
    if (hosts.length === 0) return;
    const totals = this.totals(now);
    this.series.push({
      at: now / SECOND,
      capacity: total(hosts, ({ cpu }) => cpu) / 1000,
      granted: total(hosts, ({ grantedCpu }) => grantedCpu) / 1000,
      used: hosts.every(({ usedCpu }) => usedCpu === null)
        ? null
        : total(hosts, ({ usedCpu }) => usedCpu ?? 0) / 1000,
      harvested: totals.harvestedCores,
      lent: totals.lentCores,
      sloKept: totals.sloKept,
      safeguard: totals.safeguardRate,
      activations: totals.activationRate,
    });
  }

  /**
   * As the hook counts it, with functions that are not listed here. Older hooks count for each
   * function only.
   */
  #harvestOf(view: HostView): Harvest {
    const { host, harvestedCpuSeconds, acceleratedCpuSeconds, savedSeconds } = view;
    const listed = (of: (one: FunctionView) => number): number =>
      total(
        [...this.#functions.all()].flatMap(({ views }) => views.get(host) ?? []),
        of,
      );
    return {
      harvested: harvestedCpuSeconds ?? listed((one) => one.harvestedCpuSeconds),
      lent: acceleratedCpuSeconds ?? listed((one) => one.acceleratedCpuSeconds),
      saved: savedSeconds ?? listed((one) => one.savedSeconds),
    };
  }

  /** The objectives count for each host. */
  #sums() {
    const hosts = [...this.#harvestTotals.values()];
    const objectives = { learning: 0, kept: 0, missed: 0 };
    for (const { views } of this.#functions.all())
      for (const { objective = 'learning' } of views.values()) objectives[objective]++;
    return {
      harvestedTotal: total(hosts, ({ harvested }) => harvested),
      lentTotal: total(hosts, ({ lent }) => lent),
      savedTotal: total(hosts, ({ saved }) => saved),
      functionsKept: objectives.kept,
      functionsJudged: objectives.kept + objectives.missed,
      functionsLearning: objectives.learning,
    };
  }
}

const total = <T>(list: readonly T[], of: (one: T) => number): number =>
  list.reduce((sum, one) => sum + of(one), 0);
