export const METRIC_PARTS = ['hook', 'agents', 'aggregator'] as const;
export type MetricPart = (typeof METRIC_PARTS)[number];

export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** Every label has few, fixed values; `function` is bounded by `metrics.functions`. */
  readonly labels: readonly string[];
  readonly parts: readonly MetricPart[];
}

type Served = Omit<MetricRow, 'parts'>;
const row =
  (type: MetricRow['type']) =>
  (help: string, ...labels: readonly string[]): Served => ({ type, help, labels });
const counter = row('counter');
const gauge = row('gauge');
const histogram = row('histogram');

const servedBy = <Name extends string>(
  parts: readonly MetricPart[],
  rows: Readonly<Record<Name, Served>>,
) =>
  Object.fromEntries(
    Object.entries<Served>(rows).map(([name, served]) => [name, { ...served, parts }]),
  ) as Record<Name, MetricRow>;

/**
 * The registry, docs/reference/metrics.md and the checks of dashboards and alerts are made from it.
 * Times in seconds, CPU in cores, as prometheus.io's naming page asks.
 */
export const METRICS = {
  ...servedBy(METRIC_PARTS, {
    gleaner_build_info: gauge('Always 1; what runs, as labels.', 'version', 'node', 'part'),
    gleaner_loop_age_seconds: gauge(
      'Since the part’s own loop last made progress; `/livez` judges it.',
    ),
    gleaner_loop_step_duration_seconds: histogram(
      'Duration of the steps of the part’s loop. hook: expire, headroom, sample, drift; agents: ' +
        'observe (one observation to its target), publish; aggregator: publish.',
      'step',
    ),
    gleaner_config_rejected: gauge(
      '1 while the configuration that was to be reloaded has an error: the old one applies, and ' +
        'the part cannot start again.',
    ),
    gleaner_process_faults_total: counter(
      'Uncaught faults: unhandled_rejection (the part continues), uncaught_exception (it ' +
        'restores limits and ends). Each is an event in the log.',
      'kind',
    ),
    gleaner_log_lines_total: counter(
      'Lines of the log: written, or dropped because the reader of stderr stalled or its disk is ' +
        'full.',
      'result',
    ),
    gleaner_http_requests_total: counter(
      'Requests to this port by status of the answer; without an answer: evicted (an idle ' +
        'connection closed for a new one), no_slot (all are in use), sent_ahead (sent before the ' +
        'previous answer), stalled (the answer was not read), accept_failed.',
      'result',
    ),
    gleaner_http_connections: gauge('Open connections to this port.'),
    gleaner_nats_connected: gauge('1 while connected to NATS; absent if none is configured.'),
    gleaner_nats_subscriptions_refused: gauge(
      'Subjects to which NATS refuses to subscribe: permissions of the user are missing.',
    ),
    gleaner_nats_reconnects_total: counter('Connections to NATS after the first one.'),
    gleaner_nats_messages_total: counter(
      'Messages: published, received, dropped_disconnected, dropped_backlog (the server is ' +
        'slower), dropped_stalled (it confirmed nothing for 5 s), dropped_too_large, ' +
        'handler_error.',
      'result',
    ),

    gleaner_store_operations_total: counter(
      'Reads and writes of each bucket, stream and object store of NATS: succeeded, failed.',
      'store',
      'operation',
      'result',
    ),
    gleaner_store_failing: gauge(
      '1 while reads or writes of a bucket, stream or object store fail although NATS is ' +
        'connected: JetStream is full, not enabled or refuses them.',
      'store',
      'operation',
    ),
  }),
  ...servedBy(['hook'], {
    gleaner_mode: gauge(
      '1 at the mode in force for all functions (observe, recommend, enforce), 0 at the others.',
      'mode',
    ),
    gleaner_kill_switch_active: gauge(
      '1 while any source holds the kill switch: user limits stand.',
    ),
    gleaner_modes_unreadable: gauge(
      'Values of the bucket `gleaner_mode` that cannot be read: user limits apply there.',
    ),
    gleaner_engine_up: gauge('1 while the Docker Engine or the node’s container runtime answers.'),
    gleaner_engine_events_skipped_total: counter(
      'Unusable events of the Docker Engine: `huge`, `malformed`, `unknown`. A listing follows.',
      'reason',
    ),
    gleaner_containers: gauge('Managed containers.'),
    gleaner_action_containers_total: counter(
      'Containers that started for an activation; not prewarmed ones, which wait for one.',
    ),
    gleaner_containers_unmanaged: gauge(
      'Containers of the invoker that cannot be managed; `inspect` of its service says why.',
    ),
    gleaner_common_weight_ratio: gauge(
      'Factor of all managed CPU weights, so that low ones can be expressed; 1: as the users have.',
    ),
    gleaner_activations_running: gauge('Activations that run now.'),
    gleaner_requests_total: counter('Requests seen by the tap, `/init` and `/run`.'),
    gleaner_activations_total: counter('Activations that ended.', 'function'),
    gleaner_activation_ends_total: counter(
      'Activations by end: answer, closed, reset, container_end, deadline, next_head, ' +
        'init_failed, tap_lost, stopped.',
      'reason',
    ),
    gleaner_decisions_total: counter(
      'Decisions at the start of activations, by mode of the function and reason of the CPU range.',
      'mode',
      'reason',
    ),
    gleaner_decision_lag_seconds: histogram(
      'From the kernel’s stamp of a request’s head to its limits in force.',
    ),
    gleaner_decision_fallbacks_total: counter(
      'Activations at user limits or local policies: no_target, late, unknown_container, ' +
        'unknown_function, unreadable_head.',
      'reason',
    ),
    gleaner_targets_total: counter(
      'Targets of agents: accepted, or why one was refused (stale, old_epoch, replayed, …).',
      'result',
    ),
    gleaner_safeguard_interventions_total: counter('User limits restored during an activation.'),
    gleaner_safeguard_active: gauge(
      'Functions whose next activation runs at user limits after a spike, a failure or an OOM ' +
        'kill.',
    ),
    gleaner_functions: gauge('Functions known, by the mode in force for each.', 'mode'),
    gleaner_functions_paused: gauge('Functions paused by an operator.'),
    gleaner_functions_slower_than_control: gauge(
      'Functions slower than their own control arm, beyond chance.',
    ),
    gleaner_paused: gauge('1 where an operator paused the function.', 'function'),
    gleaner_slowdown_ratio: gauge(
      'Run time against the control arm’s (geometric means); absent below 20 control samples.',
      'function',
    ),
    gleaner_mean_time_ratio: gauge(
      'Mean run time since its weights last changed against the control arm’s (arithmetic ' +
        'means): decision.weight.slowdownBound acts on it. Absent below 20 activations or 10 ' +
        'control samples.',
      'function',
    ),
    gleaner_latency_p99_seconds: gauge(
      'p99 of warm activations since the start, control arm left out.',
      'function',
    ),
    gleaner_slo_seconds: gauge(
      'Latency objective of warm activations; absent while it is learned.',
      'function',
    ),

    gleaner_memory_limit_bytes: gauge('Memory limits in force, sum over containers.', 'function'),
    gleaner_harvested_bytes: gauge(
      'Memory below the user’s limits (policy faasrm only). It lets no invoker start more ' +
        'containers.',
    ),
    gleaner_borrowed_bytes: gauge('Memory lent above users’ limits now.'),
    gleaner_harvested_cpu_seconds_total: counter(
      'CPU below the user’s quota that a binding limit kept free.',
      'function',
    ),
    gleaner_accelerated_cpu_seconds_total: counter('CPU used above the user’s quota.', 'function'),
    gleaner_saved_seconds_total: counter('Estimated time saved for callers.', 'function'),
    gleaner_pool_cpu_cores: gauge('CPU that could be lent now.'),
    gleaner_pool_memory_bytes: gauge('Memory that could be lent now.'),
    gleaner_loans_total: counter('Loans of memory given.'),
    gleaner_boosts_total: counter('Containers boosted for their cold start.'),

    gleaner_limit_updates_total: counter(
      'Limits written: cpu.shares, cpu.quota, memory, memory.low; lower or raise; written, gone, ' +
        'refused, not_effective, unsupported.',
      'resource',
      'direction',
      'result',
    ),
    gleaner_update_duration_seconds: histogram(
      'Time of a limit update, reading back included.',
      'resource',
    ),
    gleaner_restores_total: counter('Containers whose user limits were all restored.'),
    gleaner_systemd_failures_total: counter(
      'Limits that systemd refused or did not confirm: they are in force, but a daemon-reload ' +
        'may undo them.',
    ),
    gleaner_drift_total: counter('Limits that something else had changed, found and repaired.'),
    gleaner_oom_kills_total: counter(
      'OOM kills: harvest (under a limit below the user’s) or user (under the user’s own or more).',
      'cause',
    ),
    gleaner_tap_losses_total: counter(
      'Times that the tap missed packets or could not listen: restarted, dropped, unavailable; ' +
        'closes: it missed only ends of connections, and user limits are not restored.',
      'reason',
    ),
    gleaner_tap_interfaces: gauge(
      'Interfaces of the tap: listening, starting, lost. User limits are in force on starting ' +
        'and lost ones.',
      'state',
    ),
    gleaner_tap_interface_drops_total: counter(
      'Packets that network interfaces dropped, of all their traffic, as tcpdump reports; they ' +
        'are no loss of the tap.',
    ),
    gleaner_tap_counters_ignored_total: counter(
      'Counters of tcpdump that cannot be believed: gone backward, near 2^32, or unreadable.',
    ),
    gleaner_packets_ignored_total: counter(
      'Packets that the tap set aside, by its own names.',
      'reason',
    ),
    gleaner_events_total: counter('Events by kind, as on NATS.', 'kind'),
    gleaner_audit_records_total: counter('Lines of the audit log: written or dropped.', 'result'),
    gleaner_audit_records_waiting: gauge(
      'Lines of the audit log that wait for a full or failing disk; dropped beyond 8192.',
    ),
    gleaner_audit_write_failures_total: counter('Incomplete writes of the audit log.'),
  }),
  ...servedBy(['agents'], {
    gleaner_agents_resident: gauge('Agents in memory.'),
    gleaner_agents_paused: gauge('1 while this agent host is paused.'),
    gleaner_agents_shards: gauge('Shards of functions that this host holds the lease of.'),
    gleaner_agents_observations_total: counter(
      'Observations: taken, superseded (by a newer one in the queue), elsewhere (another host ' +
        'decides, or the lease of this one has lapsed), wrong_subject.',
      'result',
    ),
    gleaner_agents_newer_objects: gauge(
      'Stored agents, weights and tables of a newer release that this host has met since its ' +
        'start, as after a rollback: it has its own beside them.',
    ),
    gleaner_agents_behind_seconds: gauge(
      'Delay of an invoker host’s newest observation beyond the usual, the largest: a slow agent ' +
        'host. A dead one has no figure; another takes its shards.',
    ),
    gleaner_agents_targets_total: counter('Targets published.'),
    gleaner_agents_failed_decisions_total: counter(
      'Decisions that threw or were not finite: no target was sent.',
    ),
    gleaner_registry_functions: gauge(
      'Entries of gleaner_functions in this host’s shards at the last sweep: registered, or ' +
        'foreign (not written by an agent host, never deleted).',
      'kept',
    ),
    gleaner_registry_forgotten_total: counter(
      'Deleted state of inactive functions: functions, objects (weights and tables), markers of ' +
        'deletions.',
      'what',
    ),
    gleaner_trajectory_steps_total: counter(
      'Steps for the stream of trajectories: written, dropped (NATS away or slow), failures.',
      'result',
    ),
    gleaner_agent_updates_total: counter(
      'Updates of agents in the training thread: learned, dropped (too many wait), failures.',
      'result',
    ),
    gleaner_agent_experiences_total: counter(
      'Training jobs of agents of manager `aware`, offline and online: learned, dropped (too ' +
        'many wait), failures.',
      'result',
    ),
    gleaner_agent_reward: histogram(
      'Reward per control step of learning agents, at most 1.8: .7 for the objective, .1 for ' +
        'using the grant, up to 1 for being faster than the control arm.',
    ),
    gleaner_meanfield_staleness_seconds: gauge(
      'Age of the mean field in use; absent if there is none.',
    ),
  }),
  ...servedBy(['aggregator'], {
    gleaner_aggregator_publishing: gauge('1 where this aggregator holds the lease and publishes.'),
    gleaner_meanfield_hosts: gauge('Hosts in the mean field: agents, invokers.', 'kind'),
    gleaner_meanfield_price_ratio: gauge(
      'Highest price of any host: excess of demand over available, clipped.',
      'resource',
    ),
  }),
};

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
