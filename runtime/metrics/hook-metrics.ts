import { type Config, modes } from '../../config/index.js';
import {
  END_COUNTERS,
  type FunctionFigures,
  type HookFigures,
  LIMIT_DIRECTIONS,
  LIMIT_RESOURCES,
  LIMIT_RESULTS,
} from '../../openwhisk-plugin/daemon/index.js';
import type { MetricSet } from './metric-set.js';
import type { MetricName } from './table.js';
import { OTHER, TopFunctions } from './top-functions.js';

/** Counters of the hook by the label they become. */
const FALLBACKS = {
  no_target: 'noTarget',
  late: 'late',
  unknown_container: 'unknownContainer',
  unknown_function: 'unknownFunction',
  unreadable_head: 'unreadableHead',
} as const;
const TAP_STATES = ['listening', 'starting', 'lost'] as const;
const LOSSES = {
  restarted: 'tapRestarts',
  dropped: 'tapDrops',
  unavailable: 'tapUnavailable',
  closes: 'tapCloses',
} as const;

const PER_FUNCTION_TOTALS = [
  ['gleaner_activations_total', (fn: FunctionFigures) => fn.activations],
  ['gleaner_harvested_cpu_seconds_total', (fn: FunctionFigures) => fn.harvestedCpu / 1000],
  ['gleaner_accelerated_cpu_seconds_total', (fn: FunctionFigures) => fn.acceleratedCpu / 1000],
  ['gleaner_saved_seconds_total', (fn: FunctionFigures) => fn.saved / 1000],
] as const satisfies [MetricName, (fn: FunctionFigures) => number][];

/** Per function only: a mean of means over `other` would say nothing. */
const PER_FUNCTION_VALUES = [
  ['gleaner_slowdown_ratio', (fn: FunctionFigures) => fn.slowdown],
  ['gleaner_mean_time_ratio', (fn: FunctionFigures) => fn.meanTimeRatio],
  ['gleaner_latency_p99_seconds', (fn: FunctionFigures) => fn.p99 / 1000],
  ['gleaner_slo_seconds', (fn: FunctionFigures) => fn.slo / 1000],
] as const satisfies [MetricName, (fn: FunctionFigures) => number][];

/** Turns the hook's figures into metrics, at each scrape and nowhere else. */
export class HookMetrics {
  readonly #set: MetricSet;
  readonly #top: TopFunctions;
  #known: ReadonlySet<string> = new Set();

  constructor(set: MetricSet, settings: Pick<Config['metrics'], 'functions'>) {
    this.#set = set;
    this.#top = new TopFunctions(settings.functions, (action) => {
      for (const [name] of PER_FUNCTION_TOTALS) set.remove(name, { function: action });
    });
  }

  /** `now`: monotonic, seconds. */
  update(figures: HookFigures, now: number): void {
    this.#host(figures);
    this.#decisions(figures);
    this.#limits(figures);
    this.#functions(figures.functions, now);
  }

  #host({ host, unmanaged, commonWeight, events, audit, counters, steps }: HookFigures): void {
    const set = this.#set;
    set.steps(steps);
    for (const mode of modes) set.set('gleaner_mode', host.mode === mode ? 1 : 0, { mode });
    set.set('gleaner_kill_switch_active', host.killed ? 1 : 0);
    set.set('gleaner_modes_unreadable', host.unreadableModes ?? 0);
    set.set('gleaner_engine_up', host.isEngineReachable ? 1 : 0);
    for (const state of TAP_STATES)
      set.set('gleaner_tap_interfaces', host.tap.filter((each) => each.state === state).length, {
        state,
      });
    const skipped = Object.entries(counters.eventsSkipped);
    set.growEach('gleaner_engine_events_skipped_total', 'reason', skipped);
    set.set('gleaner_containers', host.containers);
    set.set('gleaner_containers_unmanaged', unmanaged);
    set.set('gleaner_common_weight_ratio', commonWeight);
    set.set('gleaner_activations_running', host.running);
    set.set('gleaner_pool_cpu_cores', host.poolCpu / 1000);
    set.set('gleaner_pool_memory_bytes', host.poolMemory);
    set.grow('gleaner_requests_total', counters.requests);
    set.grow('gleaner_loans_total', counters.loans);
    set.grow('gleaner_action_containers_total', counters.actionContainers);
    set.grow('gleaner_boosts_total', counters.boosts);
    set.growEach('gleaner_events_total', 'kind', Object.entries(events));
    const { written, dropped } = audit;
    set.growEach('gleaner_audit_records_total', 'result', Object.entries({ written, dropped }));
    set.set('gleaner_audit_records_waiting', audit.waiting);
    set.grow('gleaner_audit_write_failures_total', audit.failures);
  }

  #decisions({ counters, decisions, lag, targets }: HookFigures): void {
    const set = this.#set;
    for (const [reason, key] of Object.entries(END_COUNTERS))
      set.grow('gleaner_activation_ends_total', counters[key], { reason });
    for (const mode of modes)
      for (const [reason, count] of Object.entries(decisions.counts[mode]))
        if (count > 0) set.grow('gleaner_decisions_total', count, { mode, reason });
    for (const [reason, key] of Object.entries(FALLBACKS))
      set.grow('gleaner_decision_fallbacks_total', counters[key], { reason });
    set.histogram('gleaner_decision_lag_seconds', lag);
    const { accepted, refused } = targets;
    set.growEach('gleaner_targets_total', 'result', Object.entries({ accepted, ...refused }));
    set.grow('gleaner_safeguard_interventions_total', counters.safeguards);
    for (const [reason, key] of Object.entries(LOSSES))
      set.grow('gleaner_tap_losses_total', counters[key], { reason });
    set.grow('gleaner_tap_interface_drops_total', counters.tapInterfaceDrops);
    set.grow('gleaner_tap_counters_ignored_total', counters.tapCountersIgnored);
    set.growEach('gleaner_packets_ignored_total', 'reason', Object.entries(counters.anomalies));
  }

  #limits({ counters, limits }: HookFigures): void {
    const set = this.#set;
    for (const resource of LIMIT_RESOURCES) {
      for (const direction of LIMIT_DIRECTIONS)
        for (const result of LIMIT_RESULTS) {
          const count = limits.count(resource, direction, result);
          set.grow('gleaner_limit_updates_total', count, { resource, direction, result });
        }
      set.histogram('gleaner_update_duration_seconds', limits.durations[resource], { resource });
    }
    set.grow('gleaner_restores_total', counters.restores);
    set.grow('gleaner_drift_total', counters.drift);
    set.grow('gleaner_systemd_failures_total', counters.scopeFailures);
    const { oomHarvest: harvest, oomUser: user } = counters;
    set.growEach('gleaner_oom_kills_total', 'cause', Object.entries({ harvest, user }));
  }

  #functions(functions: readonly FunctionFigures[], now: number): void {
    const set = this.#set;
    this.#top.update(functions, now);
    for (const [name] of PER_FUNCTION_VALUES) set.clear(name);
    for (const name of ['gleaner_paused', 'gleaner_memory_limit_bytes'] as const) set.clear(name);
    const sums = {
      paused: 0,
      worse: 0,
      safeguarded: 0,
      harvested: 0,
      borrowed: 0,
      otherMemory: 0,
      otherPaused: 0,
    };
    const byMode = { observe: 0, recommend: 0, enforce: 0 };
    for (const fn of functions) {
      const label = this.#top.labelOf(fn.action);
      byMode[fn.mode]++;
      sums.harvested += fn.memoryHarvested;
      sums.borrowed += fn.memoryBorrowed;
      if (fn.paused) sums.paused++;
      if (fn.slowerThanControl) sums.worse++;
      if (fn.safeguarded) sums.safeguarded++;
      for (const [name, total] of PER_FUNCTION_TOTALS)
        set.grow(name, total(fn), { function: label }, fn.action);
      if (label === OTHER) {
        sums.otherMemory += fn.memoryLimit;
        if (fn.paused) sums.otherPaused = 1;
        continue;
      }
      set.set('gleaner_paused', fn.paused ? 1 : 0, { function: label });
      set.set('gleaner_memory_limit_bytes', fn.memoryLimit, { function: label });
      for (const [name, value] of PER_FUNCTION_VALUES)
        set.set(name, value(fn), { function: label });
    }
    set.set('gleaner_paused', sums.otherPaused, { function: OTHER });
    set.set('gleaner_memory_limit_bytes', sums.otherMemory, { function: OTHER });
    for (const mode of modes) set.set('gleaner_functions', byMode[mode], { mode });
    set.set('gleaner_functions_paused', sums.paused);
    set.set('gleaner_functions_slower_than_control', sums.worse);
    set.set('gleaner_safeguard_active', sums.safeguarded);
    set.set('gleaner_harvested_bytes', sums.harvested);
    set.set('gleaner_borrowed_bytes', sums.borrowed);
    this.#forgetMissing(functions);
  }

  /** The hook forgets functions; what was remembered of their totals goes with them. */
  #forgetMissing(functions: readonly FunctionFigures[]): void {
    const known = new Set(functions.map((fn) => fn.action));
    for (const action of this.#known) {
      if (known.has(action)) continue;
      for (const [name] of PER_FUNCTION_TOTALS) this.#set.forget(name, action);
    }
    this.#known = known;
  }
}
