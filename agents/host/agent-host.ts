import { LRUCache } from 'lru-cache';
import {
  type Broker,
  type BrokerMessage,
  Inbox,
  type Logger,
  newBootId,
  objectStores,
  RateLimitedLog,
  services,
  silentLogger,
  subjects,
  wildcards,
} from '../../broker/index.js';
import {
  decodeMeanField,
  decodeObservation,
  encodeMessage,
  type MeanField,
  type Observation,
} from '../../broker/messages/index.js';
import { announce, serve } from '../../broker/services/index.js';
import {
  type Clock,
  FixedHistogram,
  type Millis,
  messageOf,
  type Random,
  StepTimes,
  type Timers,
} from '../../config/index.js';
import type { Decision, ResourceManager } from '../resource-manager.js';
import {
  ConcurrencyTuners,
  type LimitSearch,
  SizeAdviser,
  type TunerSettings,
} from '../tuning/index.js';
import { ActionSettingsWatch, withinBounds } from './action-settings.js';
import { Agent } from './agent.js';
import { AgentService } from './agent-service.js';
import { AgentHostCore } from './core.js';
import { ObservationQueue } from './observation-queue.js';
import { Outbox } from './outbox.js';
import {
  Registry,
  type RegistryCounts,
  type RegistrySettings,
  registrySettings,
} from './registry/index.js';
import { HandOver, SHARDS, Shards } from './sharing/index.js';

export interface AgentHostRun {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** One manager for all functions, or by function. */
  readonly manager: ResourceManager | ((fn: string) => ResourceManager);
  /** Length of a mean-field step, ms. */
  readonly intervalMs: number;
  /** Unique among agent hosts. */
  readonly host: string;
  readonly boot?: string;
  /** Engine of the neural networks, for `gleaner status`. */
  readonly engine?: string;
  /** Version of the program, for `gleaner status`. */
  readonly version?: string;
  /** Agents kept in memory; the least recently used is suspended. */
  readonly resident?: number;
  /** Default: the configuration's defaults. */
  readonly registry?: RegistrySettings;
  /** Tunes actions' concurrency limits; absent: off. */
  readonly concurrency?: {
    readonly search: LimitSearch;
    readonly settings: TunerSettings;
  };
  /** Share of decisions reported on `agent.<fn>`. */
  readonly reportShare?: number;
  readonly logger?: Logger;
  /** Called by the loop at each mean-field step, for health checks. */
  readonly heartbeat?: () => void;
}

interface AgentHostCounts {
  observations: number;
  /** Observations that a function's agent has got. */
  taken: number;
  targets: number;
  /** Observations of functions whose shard another host owns. */
  elsewhere: number;
  /** Messages on another function's subject. */
  wrongSubject: number;
  /** The manager threw, or an amount was not a positive number: no target, so user limits. */
  failedDecisions: number;
}

export interface RunningAgentHost {
  readonly counts: Readonly<AgentHostCounts>;
  readonly agents: number;
  readonly ownedShards: number;
  readonly paused: boolean;
  /** Age of the mean field in use, ms; NaN without one. */
  readonly meanFieldAge: number;
  /** Rewards of learning agents since the start. */
  readonly rewards: FixedHistogram;
  readonly registry: Readonly<RegistryCounts>;
  /** Observations that were skipped for a newer one, because this host was behind. */
  readonly superseded: number;
  /** How much later than usual a host's newest observation arrived, the largest, ms. */
  readonly lag: number;
  readonly steps: StepTimes<(typeof LOOP_STEPS)[number]>;
  stop(): Promise<void>;
}

/**
 * A reward is at most 1.8: .7 for the SLO, .1 for using the grant, up to 1 for being faster than
 * the control arm. It is negative for a slowdown, a congestion price or a reversal.
 */
const REWARD_BOUNDS = [-1, -0.5, -0.25, 0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.4, 1.8];
/** The timed steps of the loop: from an observation to its target, and the partial sums. */
const LOOP_STEPS = ['observe', 'publish'] as const;

/** A dead host is replaced within three intervals: its lease, a turn to notice, the takeover. */
const LEASE_INTERVALS = 1.5;
const LEASE_MIN = 1500;
const LEASE_MAX = 6000;

/**
 * The process behind `gleaner agents`: receives observations and publishes targets until it is
 * stopped. It starts without a connection.
 */
export function runAgentHost(run: AgentHostRun): RunningAgentHost {
  const {
    broker,
    clock,
    timers,
    random,
    host,
    boot = newBootId(),
    logger = silentLogger,
    reportShare = 1,
  } = run;
  const { version = '0.0.0' } = run;
  const interval = run.intervalMs as Millis;
  const log = new RateLimitedLog(logger);
  const managerOf =
    typeof run.manager === 'function' ? run.manager : () => run.manager as ResourceManager;
  const agents = new LRUCache<string, Agent>({
    max: Math.max(1, run.resident ?? 1000),
    dispose: (agent, _, reason) => {
      if (reason === 'evict') handOver.saveState(agent);
    },
  });
  const adviser = new SizeAdviser(run.resident ?? 1000);
  const handOver = new HandOver({
    objects: broker.objects(objectStores.policies),
    agents,
    sizing: adviser,
    clock,
    timers,
    logger,
  });
  const owners = new ActionSettingsWatch(broker, logger);
  const tuner =
    run.concurrency === undefined
      ? null
      : new ConcurrencyTuners({
          ...run.concurrency,
          onUnsafeLimit: (fn, found, back) => outbox.unsafeLimit(fn, found, back),
          store: broker.objects(objectStores.policies),
          random,
          functions: run.resident ?? 1000,
          logger,
        });
  const counts: AgentHostCounts = {
    observations: 0,
    taken: 0,
    targets: 0,
    elsewhere: 0,
    wrongSubject: 0,
    failedDecisions: 0,
  };
  const refused =
    (what: string) =>
    (kind: string, detail: string): void =>
      logger.warn({ kind, detail }, `${what} refused`);
  const inbox = new Inbox<Observation>({
    decode: decodeObservation,
    stamp: (o) => ({ sender: `${o.host} ${o.function}`, boot: o.boot, sequence: o.step }),
    refused: refused('observation'),
    senders: 100_000,
  });
  const meanFields = new Inbox<MeanField>({
    decode: decodeMeanField,
    stamp: (field) => ({ sender: field.host, boot: field.boot, sequence: field.sequence }),
    refused: refused('mean field'),
  });
  const core = new AgentHostCore({ host, boot, interval, random });
  const shards: Shards = new Shards({
    broker,
    host,
    boot,
    clock,
    timers,
    random: random.fork('shards'),
    duration: Math.min(LEASE_MAX, Math.max(LEASE_MIN, LEASE_INTERVALS * interval)) as Millis,
    onAcquired: (shard, epoch) => handOver.onAcquired(shard, epoch),
    onRelease: (shard) => handOver.onRelease(shard),
    onTurn: () => handOver.onTurn((shard) => shards.epochOfShard(shard)),
  });
  const registry = new Registry({
    broker,
    host,
    boot,
    clock,
    timers,
    logger,
    settings: run.registry ?? registrySettings(),
    isOurs: (fn) => shards.epochOf(fn) !== null,
    isMarkerSweeper: () => shards.epochOfShard(0) !== null,
    shareOwned: () => shards.owned / SHARDS,
    seenAt: (fn) => agents.peek(fn)?.lastSeen ?? null,
    revisionOf: (fn) => owners.of(fn)?.concurrency?.revision ?? null,
    forgotten: (fn) => {
      agents.delete(fn);
      handOver.forget(fn);
    },
  });
  const agentService = new AgentService({
    host,
    agents,
    handOver,
    adviser,
    tuner,
    clock,
    state: () => ({
      host,
      boot,
      shards: shards.owned,
      counts: { ...counts, superseded: arrivals.superseded },
      lag: arrivals.lag as Millis,
      observations: inbox.counts,
      meanField: { ...meanFields.counts, obsolete: core.meanField.obsolete },
      handOver: { ...handOver.counts },
      registry: { ...registry.counts },
    }),
  });
  const outbox = new Outbox({ broker, clock, host, boot });
  const rewards = new FixedHistogram(REWARD_BOUNDS);
  const steps = new StepTimes(LOOP_STEPS);

  const agentOf = (fn: string): Agent => {
    let agent = agents.get(fn);
    if (!agent) {
      agent = new Agent(fn, managerOf(fn));
      handOver.loadState(agent);
      agents.set(fn, agent);
    }
    return agent;
  };

  const send = (
    agent: Agent,
    observation: Observation,
    decision: Decision,
    epoch: number,
  ): void => {
    const bounded = withinBounds(decision, owners.of(agent.fn)?.bounds);
    const target = core.target(agent, bounded, observation, epoch);
    if (outbox.target(target)) counts.targets++;
    if (random.next() < reportShare) outbox.report(agent, bounded, target);
  };

  const receive = (message: BrokerMessage): void => {
    const now = clock.monotonic();
    const observation = inbox.take(message.data, now);
    if (!observation) return;
    const fn = observation.function;
    if (message.subject !== subjects.observation(fn)) {
      counts.wrongSubject++;
      return;
    }
    counts.observations++;
    arrivals.take(observation, now);
  };

  const observe = (observation: Observation, now: Millis): void => {
    steps.begin();
    const fn = observation.function;
    const epoch = shards.epochOf(fn);
    if (epoch === null) {
      counts.elsewhere++;
      agents.delete(fn);
      tuner?.elsewhere(fn, now);
      return;
    }
    counts.taken++;
    adviser.observe(observation, now);
    const agent = agentOf(fn);
    registry.see(agent, observation, now);
    let sent = false;
    try {
      const decision = core.decide(agent, observation, now);
      if (agent.reward !== null) rewards.record(agent.reward);
      for (const change of agent.transitions) outbox.changed(fn, change);
      sent = !agentService.paused && !agent.paused;
      if (sent) send(agent, observation, decision, epoch);
    } catch (error) {
      counts.failedDecisions++;
      const { name: manager } = agent.manager;
      const fields = { function: fn, manager, error: messageOf(error) };
      log.error(`decision ${manager}`, now, fields, 'decision failed: no target sent');
    }
    tuner?.observe(
      observation,
      owners.of(fn)?.concurrency,
      agentService.paused || agent.paused ? 'paused' : agent.phase,
      now,
    );
    agent.remember(observation, clock.wall(), sent);
    handOver.decided(agent);
    steps.ended('observe');
  };

  const publishPartial = (): void => {
    const now = clock.monotonic();
    run.heartbeat?.();
    steps.begin();
    const owned = [...agents.values()].filter(({ fn }) => shards.epochOf(fn) !== null);
    const partial = core.partial(owned, now);
    broker.publish(subjects.agentsPartial(host), encodeMessage(partial));
    steps.ended('publish');
  };

  const arrivals = new ObservationQueue({ timers, decide: observe, now: () => clock.monotonic() });
  const subscriptions = [
    broker.subscribe(wildcards.observations, receive),
    broker.subscribe(subjects.meanField, (message) => {
      const now = clock.monotonic();
      const field = meanFields.take(message.data, now);
      if (field) core.meanField.take(field, now);
    }),
  ];
  const cancelStatus = broker.onStatus((status) => {
    if (status.kind === 'connected') void shards.turn();
  });
  const cancelPartial = timers.every(interval, publishPartial);

  const description = 'decides the resources of each function';
  const service = serve(
    broker,
    {
      name: services.agents,
      version,
      description,
      host,
      metadata: { boot, ...(run.engine ? { engine: run.engine } : {}) },
      endpoints: agentService.endpoints(),
    },
    clock,
  );
  const { id } = service;
  const cancelAnnouncements = announce(broker, timers, { service: services.agents, host, id });

  return {
    counts,
    rewards,
    registry: registry.counts,
    get superseded() {
      return arrivals.superseded;
    },
    get lag() {
      return arrivals.lag;
    },
    steps,
    get agents() {
      return agents.size;
    },
    get ownedShards() {
      return shards.owned;
    },
    get paused() {
      return agentService.paused;
    },
    get meanFieldAge() {
      return core.meanField.age(clock.monotonic());
    },
    async stop() {
      cancelPartial();
      cancelStatus();
      cancelAnnouncements();
      owners.stop();
      registry.stop();
      arrivals.stop();
      service.stop();
      for (const subscription of subscriptions) subscription.unsubscribe();
      await shards.stop();
    },
  };
}
