/** The parts that serve metrics. */
export const METRIC_PARTS = ['hook', 'agents', 'aggregator'] as const;
export type MetricPart = (typeof METRIC_PARTS)[number];

export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /**
   * Every label has few, fixed values; `function` is bounded by `metrics.functions`.
   */
  readonly labels: readonly string[];
  readonly parts: readonly MetricPart[];
}

const hook = ['hook'] as const;
const agents = ['agents'] as const;
const aggregator = ['aggregator'] as const;
const none: readonly string[] = [];

const counter = (
  parts: readonly MetricPart[],
  labels: readonly string[],
  help: string,
): MetricRow => ({
  type: 'counter',
  help,
  labels,
  parts,
});
const gauge = (
  parts: readonly MetricPart[],
  labels: readonly string[],
  help: string,
): MetricRow => ({
  ...counter(parts, labels, help),
  type: 'gauge',
});
const histogram = (
  parts: readonly MetricPart[],
  labels: readonly string[],
  help: string,
): MetricRow => ({
  ...counter(parts, labels, help),
  type: 'histogram',
});

/**
 * Every metric of Gleaner: the registry, docs/reference/metrics.md and the checks of dashboards and
 * alerts are made from it. Names and units follow prometheus.io's naming page: times in seconds,
 * CPU in cores.
 */
export const METRICS = {
  gleaner_build_info: gauge(
    METRIC_PARTS,
    ['version', 'node', 'part'],
    'Always 1; what runs, as labels.',
  ),
  gleaner_loop_age_seconds: gauge(
    METRIC_PARTS,
    none,
    'Since the part’s own loop last made progress; `/livez` judges it.',
  ),
  gleaner_loop_step_duration_seconds: histogram(
    METRIC_PARTS,
    ['step'],
    'Duration of the steps of the part’s loop. hook: expire, headroom, sample, drift; agents: ' +
      'observe (one observation to its target), publish; aggregator: publish.',
  ),
  gleaner_process_faults_total: counter(
    METRIC_PARTS,
    ['kind'],
    'Uncaught faults: unhandled_rejection (the part continues), uncaught_exception (it restores ' +
      'limits and ends). Each is an event in the log.',
  ),
  gleaner_log_lines_total: counter(
    METRIC_PARTS,
    ['result'],
    'Lines of the log: written, or dropped because the reader of stderr stalled or its disk is ' +
      'full.',
  ),
  gleaner_http_requests_total: counter(
    METRIC_PARTS,
    ['result'],
    'Requests to this port by status of the answer; without an answer: evicted (an idle ' +
      'connection closed for a new one), no_slot (all are in use), sent_ahead (sent before the ' +
      'previous answer), stalled (the answer was not read), accept_failed.',
  ),
  gleaner_http_connections: gauge(METRIC_PARTS, none, 'Open connections to this port.'),
  gleaner_nats_connected: gauge(
    METRIC_PARTS,
    none,
    '1 while connected to NATS; absent where none is configured.',
  ),
  gleaner_nats_reconnects_total: counter(
    METRIC_PARTS,
    none,
    'Connections to NATS after the first one.',
  ),
  gleaner_nats_messages_total: counter(
    METRIC_PARTS,
    ['result'],
    'Messages: published, received, dropped_disconnected, dropped_backlog (the server is ' +
      'slower), dropped_stalled (it confirmed nothing for 5 s), dropped_too_large, ' +
      'handler_error.',
  ),

  gleaner_store_operations_total: counter(
    METRIC_PARTS,
    ['store', 'operation', 'result'],
    'Reads and writes of each bucket, stream and object store of NATS: succeeded, failed.',
  ),
  gleaner_store_failing: gauge(
    METRIC_PARTS,
    ['store', 'operation'],
    '1 while reads or writes of a bucket, stream or object store fail although NATS is ' +
      'connected: JetStream is full, not enabled or refuses them.',
  ),

  gleaner_mode: gauge(
    hook,
    ['mode'],
    '1 at the mode in force for all functions (observe, recommend, enforce), 0 at the others.',
  ),
  gleaner_kill_switch_active: gauge(
    hook,
    none,
    '1 while any source holds the kill switch: user limits stand.',
  ),
  gleaner_engine_up: gauge(hook, none, '1 while the Docker Engine answers.'),
  gleaner_engine_events_skipped_total: counter(
    hook,
    ['reason'],
    'Unusable events of the Docker Engine: `huge`, `malformed`, `unknown`. A listing follows.',
  ),
  gleaner_containers: gauge(hook, none, 'Managed containers.'),
  gleaner_containers_unmanaged: gauge(
    hook,
    none,
    'Containers of the invoker that cannot be managed; `inspect` of its service says why.',
  ),
  gleaner_activations_running: gauge(hook, none, 'Activations that run now.'),
  gleaner_requests_total: counter(hook, none, 'Requests seen by the tap, `/init` and `/run`.'),
  gleaner_activations_total: counter(hook, ['function'], 'Activations that ended.'),
  gleaner_activation_ends_total: counter(
    hook,
    ['reason'],
    'Activations by end: answer, closed, reset, container_end, deadline, next_head, ' +
      'init_failed, tap_lost, stopped.',
  ),
  gleaner_decisions_total: counter(
    hook,
    ['mode', 'reason'],
    'Decisions at the start of activations, by mode of the function and reason of the CPU range.',
  ),
  gleaner_decision_lag_seconds: histogram(
    hook,
    none,
    'From the kernel’s stamp of a request’s head to its limits in force.',
  ),
  gleaner_decision_fallbacks_total: counter(
    hook,
    ['reason'],
    'Activations at user limits or local policies: no_target, late, unknown_container, ' +
      'unknown_function, unreadable_head.',
  ),
  gleaner_targets_total: counter(
    hook,
    ['result'],
    'Targets of agents: accepted, or why one was refused (stale, old_epoch, replayed, …).',
  ),
  gleaner_safeguard_interventions_total: counter(
    hook,
    none,
    'User limits restored during an activation.',
  ),
  gleaner_safeguard_active: gauge(
    hook,
    none,
    'Functions whose next activation runs at user limits after a spike, a failure or an OOM kill.',
  ),
  gleaner_functions: gauge(hook, ['mode'], 'Functions known, by the mode in force for each.'),
  gleaner_functions_paused: gauge(hook, none, 'Functions paused by an operator.'),
  gleaner_functions_slower_than_control: gauge(
    hook,
    none,
    'Functions slower than their own control arm, beyond chance.',
  ),
  gleaner_paused: gauge(hook, ['function'], '1 where an operator paused the function.'),
  gleaner_slowdown_ratio: gauge(
    hook,
    ['function'],
    'Run time against the control arm’s (geometric means); absent below 20 control samples.',
  ),
  gleaner_latency_p99_seconds: gauge(
    hook,
    ['function'],
    'p99 of warm activations since the start, control arm left out.',
  ),
  gleaner_slo_seconds: gauge(
    hook,
    ['function'],
    'Latency objective of warm activations; absent while it is learned.',
  ),

  gleaner_memory_limit_bytes: gauge(
    hook,
    ['function'],
    'Memory limits in force, sum over containers.',
  ),
  gleaner_harvested_bytes: gauge(
    hook,
    none,
    'Memory below the user’s limits (policy faasrm only). It lets no invoker start more ' +
      'containers.',
  ),
  gleaner_borrowed_bytes: gauge(hook, none, 'Memory lent above users’ limits now.'),
  gleaner_harvested_cpu_seconds_total: counter(
    hook,
    ['function'],
    'CPU below the user’s quota that a binding limit kept free.',
  ),
  gleaner_accelerated_cpu_seconds_total: counter(
    hook,
    ['function'],
    'CPU used above the user’s quota.',
  ),
  gleaner_saved_seconds_total: counter(hook, ['function'], 'Estimated time saved for callers.'),
  gleaner_pool_cpu_cores: gauge(hook, none, 'CPU that could be lent now.'),
  gleaner_pool_memory_bytes: gauge(hook, none, 'Memory that could be lent now.'),
  gleaner_loans_total: counter(hook, none, 'Loans of memory given.'),
  gleaner_boosts_total: counter(hook, none, 'Containers boosted for their cold start.'),

  gleaner_limit_updates_total: counter(
    hook,
    ['resource', 'direction', 'result'],
    'Limits written: cpu.shares, cpu.quota, memory, memory.low; lower or raise; written, gone, ' +
      'refused, not_effective, unsupported.',
  ),
  gleaner_update_duration_seconds: histogram(
    hook,
    ['resource'],
    'Time of a limit update, reading back included.',
  ),
  gleaner_restores_total: counter(hook, none, 'Containers whose user limits were all restored.'),
  gleaner_systemd_failures_total: counter(
    hook,
    none,
    'Limits that systemd refused or did not confirm: they are in force, but a daemon-reload may ' +
      'undo them.',
  ),
  gleaner_drift_total: counter(
    hook,
    none,
    'Limits that something else had changed, found and repaired.',
  ),
  gleaner_oom_kills_total: counter(
    hook,
    ['cause'],
    'OOM kills: harvest (under a limit below the user’s) or user (under the user’s own or more).',
  ),
  gleaner_tap_losses_total: counter(
    hook,
    ['reason'],
    'Times that the tap missed packets or could not listen: restarted, dropped, unavailable.',
  ),
  gleaner_tap_interfaces: gauge(
    hook,
    ['state'],
    'Interfaces of the tap: listening, starting, lost. User limits are in force on starting ' +
      'and lost ones.',
  ),
  gleaner_tap_interface_drops_total: counter(
    hook,
    none,
    'Packets that network interfaces dropped, of all their traffic, as tcpdump reports; they ' +
      'are no loss of the tap.',
  ),
  gleaner_tap_counters_ignored_total: counter(
    hook,
    none,
    'Counters of tcpdump that cannot be believed: gone backward, near 2^32, or unreadable.',
  ),
  gleaner_packets_ignored_total: counter(
    hook,
    ['reason'],
    'Packets that the tap set aside, by its own names.',
  ),
  gleaner_events_total: counter(hook, ['kind'], 'Events by kind, as on NATS.'),
  gleaner_audit_records_total: counter(
    hook,
    ['result'],
    'Lines of the audit log: written or dropped.',
  ),
  gleaner_audit_records_waiting: gauge(
    hook,
    none,
    'Lines of the audit log that wait for a full or failing disk; dropped beyond 8192.',
  ),
  gleaner_audit_write_failures_total: counter(hook, none, 'Incomplete writes of the audit log.'),

  gleaner_agents_resident: gauge(agents, none, 'Agents in memory.'),
  gleaner_agents_paused: gauge(agents, none, '1 while this agent host is paused.'),
  gleaner_agents_shards: gauge(
    agents,
    none,
    'Shards of functions that this host holds the lease of.',
  ),
  gleaner_agents_observations_total: counter(
    agents,
    ['result'],
    'Observations: taken, superseded (by a newer one in the queue), elsewhere (another host ' +
      'decides), wrong_subject.',
  ),
  gleaner_agents_behind_seconds: gauge(
    agents,
    none,
    'Delay of the newest observation beyond the usual: a slow agent host. A dead one has no ' +
      'figure; another takes its shards.',
  ),
  gleaner_agents_targets_total: counter(agents, none, 'Targets published.'),
  gleaner_agents_failed_decisions_total: counter(
    agents,
    none,
    'Decisions that threw or were not finite: no target was sent.',
  ),
  gleaner_registry_functions: gauge(
    agents,
    ['kept'],
    'Entries of gleaner_functions in this host’s shards at the last sweep: registered, or ' +
      'foreign (not written by an agent host, never deleted).',
  ),
  gleaner_registry_forgotten_total: counter(
    agents,
    ['what'],
    'Deleted state of inactive functions: functions, objects (weights and tables), markers of ' +
      'deletions.',
  ),
  gleaner_trajectory_steps_total: counter(
    agents,
    ['result'],
    'Steps for the stream of trajectories: written, dropped (NATS away or slow), failures.',
  ),
  gleaner_agent_updates_total: counter(
    agents,
    ['result'],
    'Updates of agents in the training thread: learned, dropped (too many wait), failures.',
  ),
  gleaner_agent_experiences_total: counter(
    agents,
    ['result'],
    'Training jobs of agents of manager `aware`, offline and online: learned, dropped (too ' +
      'many wait), failures.',
  ),
  gleaner_agent_reward: histogram(
    agents,
    none,
    'Reward per control step of learning agents, at most 1.8: .7 for the objective, .1 for ' +
      'using the grant, up to 1 for being faster than the control arm.',
  ),
  gleaner_meanfield_staleness_seconds: gauge(
    agents,
    none,
    'Age of the mean field in use; absent where there is none.',
  ),

  gleaner_aggregator_publishing: gauge(
    aggregator,
    none,
    '1 where this aggregator holds the lease and publishes.',
  ),
  gleaner_meanfield_hosts: gauge(
    aggregator,
    ['kind'],
    'Hosts in the mean field: agents, invokers.',
  ),
  gleaner_meanfield_price_ratio: gauge(
    aggregator,
    ['resource'],
    'Highest price of any host: excess of demand over available, clipped.',
  ),
} as const satisfies Readonly<Record<string, MetricRow>>;

export type MetricName = keyof typeof METRICS;

/** Process metrics of prom-client whose names follow the naming rules. */
export const PROCESS_METRICS: readonly string[] = [
  'process_cpu_seconds_total',
  'process_start_time_seconds',
  'process_resident_memory_bytes',
  'process_open_fds',
  'process_max_fds',
  'nodejs_eventloop_lag_p99_seconds',
  'nodejs_heap_size_used_bytes',
];
