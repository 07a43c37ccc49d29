import type { RunningAgentHost, TrajectoryWriter } from '../../agents/host/index.js';
import type { TrainingQueue } from '../../agents/ppo/index.js';
import type { HttpServer } from '../../broker/http/index.js';
import type { Broker } from '../../broker/index.js';
import type { RunningAggregator } from '../../broker/mean-field/index.js';
import type { MetricSet } from './metric-set.js';

export function updateHttp(set: MetricSet, { counts, connections }: HttpServer): void {
  set.set('gleaner_http_connections', connections);
  set.growEach('gleaner_http_requests_total', 'result', counts);
}

export function updateNats(set: MetricSet, broker: Broker | null): void {
  if (broker === null) return;
  const { counters } = broker;
  set.set('gleaner_nats_connected', broker.connected ? 1 : 0);
  // While disconnected, what the next connection refuses is unknown, as `/readyz` says.
  const refused = broker.connected ? broker.refusedSubjects.length : 0;
  set.set('gleaner_nats_subscriptions_refused', refused);
  set.grow('gleaner_nats_reconnects_total', Math.max(0, counters.connects - 1));
  const results = {
    published: counters.published,
    received: counters.received,
    dropped_disconnected: counters.droppedDisconnected,
    dropped_backlog: counters.droppedBacklog,
    dropped_stalled: counters.droppedStalled,
    dropped_too_large: counters.droppedTooLarge,
    handler_error: counters.handlerErrors,
  };
  set.growEach('gleaner_nats_messages_total', 'result', Object.entries(results));
  for (const { store, operation, succeeded, failed, failure } of broker.stores.states()) {
    set.set('gleaner_store_failing', failure === null ? 0 : 1, { store, operation });
    for (const [result, count] of Object.entries({ succeeded, failed }))
      set.grow('gleaner_store_operations_total', count, { store, operation, result });
  }
}

/** `trajectories` null: not recorded. */
export function updateAgents(
  set: MetricSet,
  host: RunningAgentHost,
  trajectories: TrajectoryWriter | null,
  trainer: Pick<TrainingQueue, 'counts'>,
  offlineTrainer: Pick<TrainingQueue, 'counts'>,
): void {
  const { counts } = host;
  set.set('gleaner_agents_resident', host.agents);
  set.set('gleaner_agents_paused', host.paused ? 1 : 0);
  set.set('gleaner_agents_shards', host.ownedShards);
  const results = {
    taken: counts.taken,
    superseded: host.superseded,
    elsewhere: counts.elsewhere,
    wrong_subject: counts.wrongSubject,
  };
  set.growEach('gleaner_agents_observations_total', 'result', Object.entries(results));
  set.set('gleaner_agents_newer_objects', host.newerObjects);
  set.set('gleaner_agents_behind_seconds', host.lag / 1000);
  set.grow('gleaner_agents_targets_total', counts.targets);
  set.grow('gleaner_agents_failed_decisions_total', counts.failedDecisions);
  set.set('gleaner_registry_functions', host.registry.functions, { kept: 'registered' });
  set.set('gleaner_registry_functions', host.registry.unreadable, { kept: 'foreign' });
  const { forgotten: functions, objects, markers } = host.registry;
  const deleted = Object.entries({ functions, objects, markers });
  set.growEach('gleaner_registry_forgotten_total', 'what', deleted);
  set.set('gleaner_meanfield_staleness_seconds', host.meanFieldAge / 1000);
  set.histogram('gleaner_agent_reward', host.rewards);
  const steps = Object.entries(trajectories?.counts ?? {});
  set.growEach('gleaner_trajectory_steps_total', 'result', steps);
  set.growEach('gleaner_agent_updates_total', 'result', Object.entries(trainer.counts));
  set.growEach('gleaner_agent_experiences_total', 'result', Object.entries(offlineTrainer.counts));
  set.steps(host.steps.histograms);
}

export function updateAggregator(
  set: MetricSet,
  { publishing, latest, steps }: RunningAggregator,
): void {
  set.steps(steps.histograms);
  set.set('gleaner_aggregator_publishing', publishing ? 1 : 0);
  set.set('gleaner_meanfield_hosts', latest?.batches.length ?? Number.NaN, { kind: 'agents' });
  set.set('gleaner_meanfield_hosts', latest?.hosts.length ?? Number.NaN, { kind: 'invokers' });
  for (const resource of ['cpu', 'memory'] as const) {
    const highest =
      latest === null
        ? Number.NaN
        : Math.max(0, ...latest.hosts.map(({ price }) => price[resource]));
    set.set('gleaner_meanfield_price_ratio', highest, { resource });
  }
}
