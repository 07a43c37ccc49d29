import type { RunSummary } from '../../simulator/engine/index.js';
import type { Slowdowns } from './slowdowns.js';

/** One figure of a run, and how to read it. */
export interface Metric {
  readonly key: string;
  readonly title: string;
  readonly unit: '' | 'ms' | 's' | 'share' | 'core-s';
  /** What is better; null: neither, it explains. */
  readonly better: 'lower' | 'higher' | null;
  /** Baselines nearer to zero are not divided by. */
  readonly nearZero: number;
  readonly of: (run: RunSummary, slowdowns: Slowdowns) => number;
}

function metric(
  key: string,
  title: string,
  unit: Metric['unit'],
  better: Metric['better'],
  of: Metric['of'],
  nearZero = 1e-6,
): Metric {
  return { key, title, unit, better, nearZero, of };
}

const per = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);

/** In the order of tables; the first is what contenders are ranked by. */
export const METRICS: readonly Metric[] = [
  metric(
    'service.mean',
    'slowdown of waiting and running, mean',
    '',
    'lower',
    (_, { service }) => service.mean,
  ),
  metric('service.p99', 'slowdown of waiting and running, p99', '', 'lower', (_, { service }) =>
    service.quantile(0.99),
  ),
  metric(
    'service.slow',
    'slower than 1.2 x alone',
    'share',
    'lower',
    (_, { service }) => service.slowShare,
    1e-3,
  ),
  metric('response.mean', 'response, mean', 'ms', 'lower', (run) => run.responseMs.mean),
  metric('response.p50', 'response, p50', 'ms', 'lower', (run) => run.responseMs.p50),
  metric('response.p99', 'response, p99', 'ms', 'lower', (run) => run.responseMs.p99),
  metric('slowdown.p50', 'slowdown of response, p50', '', 'lower', (_, { response }) =>
    response.quantile(0.5),
  ),
  metric('slowdown.mean', 'slowdown of response, mean', '', 'lower', (run) => run.slowdown.mean),
  metric(
    'rfet.mean',
    'execution / alone at user limits, mean',
    '',
    'lower',
    (run) => run.rfet.mean,
  ),
  metric('cold.share', 'cold starts', 'share', 'lower', (run) => run.coldShare, 1e-3),
  metric(
    'wait.mean',
    'wait for memory, mean',
    'ms',
    'lower',
    (run) => per(run.waited * run.waitMeanMs, run.activations),
    1,
  ),
  metric(
    'slo.missed',
    'functions above their objective',
    'share',
    'lower',
    (run) => per(run.slo.missed, run.slo.functions),
    1e-3,
  ),
  metric(
    'slo.late',
    'activations that failed or took longer than their objective',
    'share',
    'lower',
    (run) => per(run.slo.late, run.slo.activations),
    1e-3,
  ),
  metric(
    'worst.slowdown',
    'worst function, mean slowdown of waiting and running',
    '',
    'lower',
    (_, slowdowns) => slowdowns.worstFunction,
  ),
  metric(
    'failed.share',
    'not successful',
    'share',
    'lower',
    (run) => per(run.activations - run.outcomes.success, run.activations),
    1e-3,
  ),
  metric('oom.kills', 'OOM kills', '', 'lower', (run) => run.oomKills, 1),
  metric(
    'saved.seconds',
    'run time saved (estimate)',
    's',
    'higher',
    (run) => run.harvest.savedSeconds,
    1,
  ),
  metric('harvested.share', 'harvested', 'share', null, (run) => run.harvest.harvestedShare, 1e-3),
  metric(
    'accelerated.share',
    'accelerated',
    'share',
    null,
    (run) => run.harvest.acceleratedShare,
    1e-3,
  ),
  metric(
    'harvested.coreSeconds',
    'harvested',
    'core-s',
    null,
    (run) => run.harvest.harvestedCoreSeconds,
    1,
  ),
  metric(
    'accelerated.coreSeconds',
    'used above user limits',
    'core-s',
    null,
    (run) => run.harvest.acceleratedCoreSeconds,
    1,
  ),
  metric(
    'borrowed.coreSeconds',
    'borrowed',
    'core-s',
    null,
    (run) => run.harvest.borrowedCoreSeconds,
    1,
  ),
  metric('demand.coreSeconds', 'demand', 'core-s', null, (run) => run.harvest.demandCoreSeconds, 1),
  metric('trips', 'restored mid-run', '', null, (run) => run.harvest.trips, 1),
  metric('revoked', 'loans taken back', '', null, (run) => run.harvest.revoked, 1),
  metric('utilization', 'cores busy', 'share', null, (run) => run.utilization, 1e-3),
];

export type Figures = Readonly<Record<string, number>>;

export function figuresOf(run: RunSummary, slowdowns: Slowdowns): Figures {
  return Object.fromEntries(METRICS.map(({ key, of }) => [key, of(run, slowdowns)]));
}
