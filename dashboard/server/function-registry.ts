import {
  bucketOf,
  LatencyHistogram,
  type Observation,
  withoutPart,
} from '../../broker/messages/index.js';
import type { FunctionView } from '../../broker/services/index.js';
import { comparisonOver, modeInForce, reasonText } from '../../rules/index.js';
import { FUNCTION_COLUMNS, type FunctionColumn, type FunctionRow } from '../wire.js';
import { comparisonView } from './comparison.js';
import { RATE_WINDOW, RateWindow } from './rates.js';
import { rounded, Series } from './series.js';

/** Four hours of a function that is called once a minute, ten minutes of a busy one. */
const POINTS = 240;
const LEARNING_POINTS = 600;

/** A function on one host, whose kill switch may hold. */
type HostFunctionView = FunctionView & { readonly killed: boolean };

/** One function over all hosts, and its history. */
export class FunctionEntry {
  readonly name: string;
  /** The newest answer of each host's hook. */
  readonly views = new Map<string, HostFunctionView>();
  readonly history = new Series<FunctionColumn>(FUNCTION_COLUMNS, POINTS);
  readonly learning: { step: number; reward: number }[] = [];
  readonly #activations = new RateWindow(RATE_WINDOW);
  #manager = '';
  #phase = '';
  #usedCpu = 0;
  #usedMemory = 0;
  /** The row until something changes; null: to be made. Most functions are idle. */
  #row: FunctionRow | null = null;

  constructor(name: string) {
    this.name = name;
  }

  /** `clockRate`: of the host's clock. */
  takeView(host: string, view: HostFunctionView, now: number, clockRate: number): void {
    this.views.set(host, view);
    this.#activations.take(host, now, view.activations, clockRate);
    this.#row = null;
  }

  /** `phase` of its agent; absent: unchanged. */
  setAgent(manager: string, phase = this.#phase): void {
    if (manager !== this.#manager || phase !== this.#phase) this.#row = null;
    this.#manager = manager;
    this.#phase = phase;
  }

  forget(host: string): void {
    if (this.views.delete(host)) this.#row = null;
    this.#activations.forget(host);
  }

  observe(observation: Observation, now: number): void {
    const { activations, control, used, peak, granted, user, latency, coldLatency, cpuWait } =
      observation;
    const warm = new LatencyHistogram();
    warm.add(withoutPart(latency, coldLatency));
    const cold = new LatencyHistogram();
    if (coldLatency !== undefined) cold.add(coldLatency);
    const ran = activations > 0;
    if (used.cpu > 0) this.#usedCpu = used.cpu;
    if (used.memory > 0) this.#usedMemory = used.memory;
    this.#row = null;
    const view = this.views.get(observation.host);
    this.history.push({
      at: now / 1000,
      cold: cold.count > 0 ? cold.mean : null,
      userCpu: user.cpu,
      userMemory: user.memory,
      slo: view?.slo,
      activations: activations + control.activations,
      wait: cpuWait,
      slowdown: view?.slowdown,
      control: control.activations > 0 ? control.mean : null,
      weight: view !== undefined && view.userShares > 0 ? view.shares / view.userShares : null,
      ...(ran
        ? {
            // 0: too short for a window of the usage monitor to count.
            usedCpu: used.cpu || null,
            peakCpu: peak.cpu || null,
            cpuMin: granted.cpu.min,
            cpu: granted.cpu.mean,
            cpuMax: granted.cpu.max,
            usedMemory: used.memory || null,
            peakMemory: peak.memory || null,
            memoryMin: granted.memory.min,
            memory: granted.memory.mean,
            memoryMax: granted.memory.max,
            mean: warm.count > 0 ? warm.mean : null,
            p99: warm.count > 0 ? p99Beside(warm) : null,
            throttled: observation.throttledShare,
          }
        : {}),
    });
  }

  reward(step: number, reward: number): void {
    this.learning.push({ step, reward });
    if (this.learning.length > LEARNING_POINTS) this.learning.shift();
  }

  /** Null until a hook has listed the function. The same object until something changes. */
  row(now: number): FunctionRow | null {
    const rate = roundedOrNull(this.#activations.rate(now));
    if (this.#row?.rate !== rate) this.#row = this.#makeRow(rate);
    return this.#row;
  }

  #makeRow(rate: number | null): FunctionRow | null {
    const views = [...this.views.values()];
    const [first] = views;
    if (first === undefined) return null;
    const sum = (of: (view: FunctionView) => number): number =>
      views.reduce((total, view) => total + of(view), 0);
    const worst = (of: (view: FunctionView) => number | null): number | null =>
      views.reduce<number | null>((highest, view) => {
        const value = of(view);
        return value === null ? highest : Math.max(highest ?? value, value);
      }, null);
    const judged = worstView(views);
    // Over several hosts: weighted by containers.
    const containers = sum((view) => view.containers);
    const mean = (of: (view: FunctionView) => number): number =>
      containers === 0
        ? sum(of) / views.length
        : sum((view) => of(view) * view.containers) / containers;
    const modes = new Set(views.map(modeInForce));
    return {
      name: this.name,
      hosts: views.length,
      mode: modes.size === 1 ? modeInForce(first) : 'mixed',
      paused: views.some(({ paused }) => paused),
      alarm: views.some(({ slowerThanControl }) => slowerThanControl),
      manager: this.#manager || first.target?.author.split('@')[0] || '',
      phase: this.#phase,
      cpuMode: first.cpuMode,
      activations: sum(({ activations }) => activations),
      rate,
      running: sum(({ running }) => running),
      containers,
      userCpu: rounded(mean(({ userCpu }) => userCpu)),
      cpu: rounded(mean(({ cpu }) => cpu)),
      userShares: rounded(mean(({ userShares }) => userShares)),
      shares: rounded(mean(({ shares }) => shares)),
      userMemory: rounded(mean(({ userMemory }) => userMemory)),
      memory: rounded(mean(({ memory }) => memory)),
      usedCpu: rounded(this.#usedCpu),
      usedMemory: rounded(this.#usedMemory),
      harvested: rounded(sum(({ harvestedCpuSeconds }) => harvestedCpuSeconds)),
      lent: rounded(sum(({ acceleratedCpuSeconds }) => acceleratedCpuSeconds)),
      saved: rounded(sum(({ savedSeconds }) => savedSeconds)),
      p99: roundedOrNull(p99Of(judged)),
      slo: roundedOrNull(judged.slo),
      objective: judged.objective ?? 'learning',
      comparison: comparisonView(comparisonOver(views)),
      learning: judged.learning ?? NO_LEARNING,
      coldStarts: sum(({ coldStarts }) => coldStarts ?? 0),
      initTime: roundedOrNull(worst(({ initTime }) => initTime ?? null)),
      safeguard: reasonText(first.safeguard),
    };
  }
}

const roundedOrNull = (value: number | null): number | null =>
  value === null ? null : rounded(value);

const NO_LEARNING: FunctionRow['learning'] = {
  activations: 0,
  activationsNeeded: 0,
  controlSamples: 0,
  controlSamplesNeeded: 0,
};

/** The p99 of a few activations is only the slowest of them. */
const p99Of = ({ p99, learning }: FunctionView): number | null =>
  learning === undefined || learning.activations >= learning.activationsNeeded ? p99 : null;

/** A quantile is the middle of its bucket, the mean exact: in one bucket it may be the larger. */
function p99Beside(latency: LatencyHistogram): number {
  const p99 = latency.quantile(0.99);
  return bucketOf(latency.mean) === bucketOf(p99) ? Math.max(p99, latency.mean) : p99;
}

/** Functions by name, at most `maxFunctions`: the least recently called is evicted. */
export class FunctionRegistry {
  /** Least recently called first. */
  readonly #entries = new Map<string, FunctionEntry>();
  readonly #maxFunctions: number;

  constructor(maxFunctions: number) {
    this.#maxFunctions = maxFunctions;
  }

  get(name: string): FunctionEntry | undefined {
    return this.#entries.get(name);
  }

  all(): Iterable<FunctionEntry> {
    return this.#entries.values();
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The entry of a function that was called now. */
  called(name: string): FunctionEntry {
    let entry = this.#entries.get(name);
    if (entry === undefined) {
      entry = new FunctionEntry(name);
      if (this.#entries.size >= this.#maxFunctions) this.#evictOldest();
    } else this.#entries.delete(name);
    this.#entries.set(name, entry);
    return entry;
  }

  /**
   * A hook may list a function long after its last activation, so listing evicts no other function.
   */
  takeView(host: string, view: HostFunctionView, now: number, clockRate: number): void {
    let entry = this.#entries.get(view.name);
    if (entry === undefined) {
      if (this.#entries.size >= this.#maxFunctions) return;
      entry = new FunctionEntry(view.name);
      this.#entries.set(view.name, entry);
    }
    entry.takeView(host, view, now, clockRate);
  }

  /** A host is gone, or its hook restarted and counts from zero. Histories stay. */
  forget(host: string): void {
    for (const entry of this.#entries.values()) entry.forget(host);
  }

  #evictOldest(): void {
    const oldest = this.#entries.keys().next().value;
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}

const OBJECTIVES = ['learning', 'kept', 'missed'] as const;

/** The host whose p99 and SLO are shown: that of the worst objective, then of the highest p99. */
function worstView(views: readonly FunctionView[]): FunctionView {
  const rank = ({ objective = 'learning' }: FunctionView): number => OBJECTIVES.indexOf(objective);
  return views.reduce((worst, view) => {
    const worse = rank(view) - rank(worst) || (p99Of(view) ?? -1) - (p99Of(worst) ?? -1);
    return worse > 0 ? view : worst;
  });
}
