import type { Mode } from '../../broker/messages/index.js';
import type { HostView } from '../../broker/services/index.js';
import { comparisonOf, comparisonSums, type DurationHistogram } from '../../config/index.js';
import type { FunctionRecord } from '../control/index.js';
import { NO_LIMIT, slowerThanControl } from '../decision/index.js';
import type { AuditLog } from './audit.js';
import type { Counters } from './counters.js';
import type { HookParts } from './hook-parts.js';
import type { SamplerStep } from './sampler.js';
import type { DecisionTally, LimitTally } from './tallies.js';

/** One function as metrics need it: millicores, bytes, ms; sums since the hook's start. */
export interface FunctionFigures {
  readonly action: string;
  readonly mode: Mode;
  readonly paused: boolean;
  readonly activations: number;
  readonly running: number;
  readonly containers: number;
  /** Sum of the memory limits of its containers; containers without a limit count as 0. */
  memoryLimit: number;
  /** Amounts by which these limits are below and above the users'. */
  memoryHarvested: number;
  memoryBorrowed: number;
  /** CPU-ms below and above the user's quota, and the estimated ms saved. */
  readonly harvestedCpu: number;
  readonly acceleratedCpu: number;
  readonly saved: number;
  /** NaN while unknown; the slowdown below 20 control samples. */
  readonly p99: number;
  readonly slo: number;
  readonly slowdown: number;
  readonly slowerThanControl: boolean;
  /** The next activation runs at user limits after a spike, a failure or an OOM kill. */
  readonly safeguarded: boolean;
}

/** Everything that a scrape reads; valid until the event loop continues. */
export interface HookFigures {
  readonly host: HostView;
  readonly counters: Readonly<Counters>;
  readonly limits: LimitTally;
  readonly decisions: DecisionTally;
  /** Time from the kernel's time stamp of a request to its limits in force. */
  readonly lag: DurationHistogram;
  /** Durations of the sampler's steps. */
  readonly steps: Readonly<Record<SamplerStep, DurationHistogram>>;
  readonly events: Readonly<Record<string, number>>;
  readonly targets: {
    readonly accepted: number;
    readonly refused: Readonly<Record<string, number>>;
  };
  readonly messages: { readonly published: number; readonly dropped: number };
  readonly audit: Pick<AuditLog, 'written' | 'dropped' | 'waiting' | 'failures'>;
  readonly unmanaged: number;
  readonly functions: readonly FunctionFigures[];
}

/** One row per function that has run. Walks over all containers once. */
export function functionFigures(parts: HookParts): FunctionFigures[] {
  const rows = new Map<FunctionRecord, FunctionFigures>();
  for (const fn of parts.functions.values()) {
    const row = figuresOf(fn, parts);
    if (row !== null) rows.set(fn, row);
  }
  for (const container of parts.containers.values()) {
    const row = container.revision === null ? undefined : rows.get(container.revision.fn);
    const limit = container.handle.expected.memory;
    const user = container.info.user.memory;
    if (row === undefined || limit === NO_LIMIT || user === NO_LIMIT) continue;
    row.memoryLimit += limit;
    row.memoryHarvested += Math.max(0, user - limit);
    row.memoryBorrowed += Math.max(0, limit - user);
  }
  return [...rows.values()];
}

function figuresOf(fn: FunctionRecord, parts: HookParts): FunctionFigures | null {
  if (fn.revision === null) return null;
  const { state } = fn.revision;
  const compared = comparisonOf(comparisonSums([state]));
  return {
    action: fn.action,
    mode: fn.mode,
    paused: fn.paused,
    activations: fn.activations,
    running: fn.running,
    containers: fn.containers,
    memoryLimit: 0,
    memoryHarvested: 0,
    memoryBorrowed: 0,
    harvestedCpu: state.harvested,
    acceleratedCpu: state.accelerated,
    saved: state.saved,
    p99: fn.latency.count > 0 ? fn.latency.quantile(0.99) : Number.NaN,
    slo: parts.decider.objectives.slo(state, parts.decider.settings),
    slowdown: compared.known ? compared.ratio : Number.NaN,
    slowerThanControl: slowerThanControl(state),
    safeguarded: state.cpuSpiked || state.memorySpiked || state.lastFailed || state.oomHold > 0,
  };
}
