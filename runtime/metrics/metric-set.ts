import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client';
import { METRICS, type MetricName, type MetricPart, PROCESS_METRICS } from './table.js';

export type Labels = Readonly<Record<string, string>>;

/** A histogram that is kept elsewhere, as it stands at the scrape. */
export interface HistogramFigures {
  /** Upper bounds; `counts` has one bucket more, without a bound. Not cumulative. */
  readonly bounds: readonly number[];
  readonly counts: ArrayLike<number>;
  readonly sum: number;
}

const PRECISION_MILLIS = 50;

/** Shows those of prom-client's process metrics that are wanted. */
class ProcessRegistry extends Registry {
  readonly #unwanted: readonly Metric[];

  constructor() {
    super();
    const all = new Registry();
    collectDefaultMetrics({ register: all, eventLoopMonitoringPrecision: PRECISION_MILLIS });
    for (const name of PROCESS_METRICS) this.registerMetric(all.getSingleMetric(name)!);
    this.#unwanted = all
      .getMetricsAsArray()
      .filter(({ name }) => !PROCESS_METRICS.includes(name))
      .map(({ name }) => all.getSingleMetric(name)!);
  }

  /** An unwanted metric may set the value of a wanted one when it is asked for its own. */
  override async metrics(): Promise<string> {
    for (const metric of this.#unwanted) await metric.get();
    return super.metrics();
  }
}

/** The registry of one part; values are brought in at each scrape. */
export class MetricSet {
  readonly registry: Registry = new ProcessRegistry();
  readonly #gauges = new Map<string, Gauge>();
  readonly #counters = new Map<string, Counter>();
  readonly #histograms = new Map<string, ForeignHistogram>();
  /** Last value of each running total, by metric, labels and source. */
  readonly #totals = new Map<string, number>();

  constructor(part: MetricPart) {
    for (const [name, row] of Object.entries(METRICS)) {
      if (!(row.parts as readonly string[]).includes(part)) continue;
      const options = {
        name,
        help: row.help,
        labelNames: [...row.labels],
        registers: [this.registry],
      };
      if (row.type === 'gauge') this.#gauges.set(name, new Gauge(options));
      else if (row.type === 'counter') this.#counters.set(name, new Counter(options));
      else {
        const metric = new ForeignHistogram(name, row.help);
        this.#histograms.set(name, metric);
        this.registry.registerMetric(metric as unknown as Metric);
      }
    }
  }

  /** A value that is not finite takes the series away: unknown is not 0. */
  set(name: MetricName, value: number, labels: Labels = {}): void {
    const gauge = this.#gauges.get(name)!;
    if (Number.isFinite(value)) gauge.set(labels, value);
    else gauge.remove(labels);
  }

  /** Removes every series of a gauge, before the current ones are set. */
  clear(name: MetricName): void {
    this.#gauges.get(name)!.reset();
  }

  /**
   * Adds the growth of a running total. `source` distinguishes totals that share a series (`other`
   * functions), so that a function can move between labels and no counter falls.
   */
  grow(name: MetricName, total: number, labels: Labels = {}, source = ''): void {
    const key = `${name} ${source || Object.values(labels).join(' ')}`;
    const last = this.#totals.get(key) ?? 0;
    const value = Number.isFinite(total) ? total : last;
    this.#totals.set(key, value);
    this.#counters.get(name)!.inc(labels, value >= last ? value - last : value);
  }

  /** Ends a series of a counter whose label is no longer used. */
  remove(name: MetricName, labels: Labels): void {
    this.#counters.get(name)!.remove(labels);
  }

  /** Forgets the totals of a source that has ended. */
  forget(name: MetricName, source: string): void {
    this.#totals.delete(`${name} ${source}`);
  }

  /** {@link grow} for each total, by the label `label`. */
  growEach(name: MetricName, label: string, totals: Iterable<readonly [string, number]>): void {
    for (const [value, total] of totals) this.grow(name, total, { [label]: value });
  }

  /** How long the steps of a part's loop took. */
  steps(histograms: Readonly<Record<string, HistogramFigures>>): void {
    for (const [step, durations] of Object.entries(histograms))
      this.histogram('gleaner_loop_step_duration_seconds', durations, { step });
  }

  histogram(name: MetricName, figures: HistogramFigures, labels: Labels = {}): void {
    this.#histograms.get(name)!.set(figures, labels);
  }
}

/** A histogram for prom-client's registry whose buckets are counted elsewhere. */
class ForeignHistogram {
  readonly name: string;
  readonly #help: string;
  readonly #series = new Map<string, { figures: HistogramFigures; labels: Labels }>();

  constructor(name: string, help: string) {
    this.name = name;
    this.#help = help;
  }

  set(figures: HistogramFigures, labels: Labels): void {
    this.#series.set(Object.values(labels).join(' '), { figures, labels });
  }

  get(): object {
    const values: { metricName: string; labels: Record<string, string | number>; value: number }[] =
      [];
    for (const { figures, labels } of this.#series.values()) {
      let count = 0;
      for (let i = 0; i < figures.counts.length; i++) {
        count += figures.counts[i]!;
        const le = figures.bounds[i] ?? '+Inf';
        values.push({ metricName: `${this.name}_bucket`, labels: { ...labels, le }, value: count });
      }
      values.push({ metricName: `${this.name}_sum`, labels, value: figures.sum });
      values.push({ metricName: `${this.name}_count`, labels, value: count });
    }
    return { name: this.name, help: this.#help, type: 'histogram', values, aggregator: 'sum' };
  }

  reset(): void {
    this.#series.clear();
  }
}
