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
  MIB,
  type Millis,
  messageOf,
  type Random,
  StepTimes,
  type Timers,
} from '../../config/index.js';
import { NewerObjects } from '../newer-objects.js';
import type { Decision, ResourceManager } from '../resource-manager.js';
import {
  ConcurrencyTuners,
  type LimitSearch,
  SizeAdviser,
  type TunerSettings,
  tableStore,
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
  /** Shared with the manager's stores. */
  readonly newer?: NewerObjects;
  /** Called by the loop at each mean-field step, for health checks. */
  readonly heartbeat?: () => void;
  /** The fault that ends this process; null: it ends in order. */
  readonly failure?: () => string | null;
}

interface AgentHostCounts {
  observations: number;
  /** Observations that a function's agent has got. */
  taken: number;
  targets: number;
  /** Observations of functions whose shard another host owns, or whose lease has lapsed. */
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
  /** Stored objects of a newer Gleaner, beside which this host has its own. */
  readonly newerObjects: number;
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
  return new AgentHost(run);
}

class AgentHost implements RunningAgentHost {
  readonly counts: AgentHostCounts = {
    observations: 0,
    taken: 0,
    targets: 0,
    elsewhere: 0,
    wrongSubject: 0,
    failedDecisions: 0,
  };
  readonly rewards = new FixedHistogram(REWARD_BOUNDS);
  readonly steps = new StepTimes(LOOP_STEPS);
  readonly #run: AgentHostRun;
  readonly #logger: Logger;
  readonly #log: RateLimitedLog;
  readonly #agents: LRUCache<string, Agent>;
  readonly #adviser: SizeAdviser;
  readonly #newer: NewerObjects;
  readonly #handOver: HandOver;
  readonly #owners: ActionSettingsWatch;
  readonly #tuner: ConcurrencyTuners | null;
  readonly #inbox: Inbox<Observation>;
  readonly #meanFields: Inbox<MeanField>;
  readonly #core: AgentHostCore;
  readonly #shards: Shards;
  readonly #registry: Registry;
  readonly #service: AgentService;
  readonly #outbox: Outbox;
  readonly #arrivals: ObservationQueue;
  /** Ends what the host has begun, in this order. */
  readonly #endings: readonly (() => void)[];

  constructor(run: AgentHostRun) {
    const { broker, clock, timers, random, host, logger = silentLogger } = run;
    const boot = run.boot ?? newBootId();
    const interval = run.intervalMs as Millis;
    const resident = run.resident ?? 1000;
    this.#run = run;
    this.#logger = logger;
    this.#log = new RateLimitedLog(logger);
    this.#agents = new LRUCache<string, Agent>({
      max: Math.max(1, resident),
      dispose: (agent, _, reason) => {
        if (reason === 'evict') this.#handOver.saveState(agent);
      },
    });
    const agents = this.#agents;
    this.#adviser = new SizeAdviser(resident);
    const newer = run.newer ?? new NewerObjects(logger);
    this.#newer = newer;
    const objects = broker.objects(objectStores.policies);
    this.#handOver = new HandOver({
      objects,
      newer,
      agents,
      sizing: this.#adviser,
      clock,
      timers,
      logger,
    });
    this.#owners = new ActionSettingsWatch(broker, logger);
    this.#tuner =
      run.concurrency === undefined
        ? null
        : new ConcurrencyTuners({
            ...run.concurrency,
            onUnsafeLimit: (fn, found, back) => this.#outbox.unsafeLimit(fn, found, back),
            store: tableStore(objects, newer),
            random,
            functions: resident,
            logger,
          });
    this.#inbox = new Inbox<Observation>({
      decode: decodeObservation,
      stamp: (o) => ({ sender: `${o.host} ${o.function}`, boot: o.boot, sequence: o.step }),
      refused: this.#refused('observation'),
      senders: 100_000,
    });
    this.#meanFields = new Inbox<MeanField>({
      decode: decodeMeanField,
      stamp: (field) => ({ sender: field.host, boot: field.boot, sequence: field.sequence }),
      refused: this.#refused('mean field'),
    });
    this.#core = new AgentHostCore({ host, boot, interval, random });
    this.#shards = new Shards({
      broker,
      host,
      boot,
      clock,
      timers,
      random: random.fork('shards'),
      duration: Math.min(LEASE_MAX, Math.max(LEASE_MIN, LEASE_INTERVALS * interval)) as Millis,
      onAcquired: (shard, epoch) => this.#handOver.onAcquired(shard, epoch),
      onRelease: (shard, isOurs) => this.#handOver.onRelease(shard, isOurs),
      onTurn: () => this.#handOver.onTurn((shard) => this.#shards.epochOfShard(shard)),
    });
    this.#registry = new Registry({
      broker,
      host,
      boot,
      clock,
      timers,
      logger,
      settings: run.registry ?? registrySettings(),
      isOurs: (fn) => this.#shards.epochOf(fn) !== null,
      isMarkerSweeper: () => this.#shards.epochOfShard(0) !== null,
      shareOwned: () => this.#shards.owned / SHARDS,
      seenAt: (fn) => agents.peek(fn)?.lastSeen ?? null,
      revisionOf: (fn) => this.#owners.of(fn)?.concurrency?.revision ?? null,
      forgotten: (fn) => {
        agents.delete(fn);
        this.#handOver.forget(fn);
      },
    });
    this.#service = new AgentService({
      host,
      agents,
      handOver: this.#handOver,
      adviser: this.#adviser,
      tuner: this.#tuner,
      clock,
      state: () => ({
        host,
        boot,
        shards: this.ownedShards,
        counts: { ...this.counts, superseded: this.superseded },
        lag: this.lag as Millis,
        observations: this.#inbox.counts,
        meanField: { ...this.#meanFields.counts, obsolete: this.#core.meanField.obsolete },
        handOver: { ...this.#handOver.counts },
        registry: { ...this.registry },
        newerObjects: this.newerObjects,
      }),
    });
    this.#outbox = new Outbox({ broker, clock, host, boot });
    this.#arrivals = new ObservationQueue({
      timers,
      decide: (observation, now) => this.#observe(observation, now),
      now: () => clock.monotonic(),
    });
    this.#endings = this.#begin(boot, interval);
  }

  get registry(): Readonly<RegistryCounts> {
    return this.#registry.counts;
  }

  get newerObjects(): number {
    return this.#newer.count;
  }

  get superseded(): number {
    return this.#arrivals.superseded;
  }

  get lag(): number {
    return this.#arrivals.lag;
  }

  get agents(): number {
    return this.#agents.size;
  }

  get ownedShards(): number {
    return this.#shards.owned;
  }

  get paused(): boolean {
    return this.#service.paused;
  }

  get meanFieldAge(): number {
    return this.#core.meanField.age(this.#run.clock.monotonic());
  }

  async stop(): Promise<void> {
    for (const end of this.#endings) end();
    await this.#shards.stop();
  }

  /** Subscribes, announces the service and starts the timers. */
  #begin(boot: string, interval: Millis): (() => void)[] {
    const { broker, clock, timers, host, engine, version = '0.0.0', failure } = this.#run;
    const subscriptions = [
      broker.subscribe(wildcards.observations, (message) => this.#receive(message)),
      broker.subscribe(subjects.meanField, (message) => {
        const now = clock.monotonic();
        const field = this.#meanFields.take(message.data, now);
        if (field) this.#core.meanField.take(field, now);
      }),
    ];
    const cancelStatus = broker.onStatus((status) => {
      if (status.kind === 'connected') void this.#shards.turn();
    });
    const cancelPartial = timers.every(interval, () => this.#publishPartial());
    const service = serve(
      broker,
      {
        name: services.agents,
        version,
        description: 'decides the resources of each function',
        host,
        metadata: { boot, ...(engine ? { engine } : {}) },
        endpoints: this.#service.endpoints(),
      },
      clock,
    );
    const { id } = service;
    const cancelAnnouncements = announce(
      broker,
      timers,
      { service: services.agents, host, id },
      failure,
    );
    return [
      cancelPartial,
      cancelStatus,
      cancelAnnouncements,
      () => this.#owners.stop(),
      () => this.#registry.stop(),
      () => this.#arrivals.stop(),
      () => service.stop(),
      ...subscriptions.map((subscription) => () => subscription.unsubscribe()),
    ];
  }

  #refused =
    (what: string) =>
    (kind: string, detail: string): void =>
      this.#logger.warn({ kind, detail }, `${what} refused`);

  #receive(message: BrokerMessage): void {
    const now = this.#run.clock.monotonic();
    const observation = this.#inbox.take(message.data, now);
    if (!observation) return;
    if (message.subject !== subjects.observation(observation.function)) {
      this.counts.wrongSubject++;
      return;
    }
    this.counts.observations++;
    this.#arrivals.take(observation, now);
  }

  #observe(observation: Observation, now: Millis): void {
    this.steps.begin();
    const fn = observation.function;
    const epoch = this.#shards.epochOf(fn);
    if (epoch === null) {
      this.counts.elsewhere++;
      if (this.#shards.isElsewhere(fn)) this.#suspend(fn);
      this.#tuner?.elsewhere(fn, now);
      return;
    }
    this.counts.taken++;
    const asked = (this.#owners.of(fn)?.resized?.fromMiB ?? 0) * MIB;
    this.#adviser.observe(observation, now, asked);
    const agent = this.#agentOf(fn);
    this.#registry.see(agent, observation, now);
    const sent = this.#decide(agent, observation, epoch, now);
    this.#tuner?.observe(
      observation,
      this.#owners.of(fn)?.concurrency,
      this.paused || agent.paused ? 'paused' : agent.phase,
      now,
    );
    agent.remember(observation, this.#run.clock.wall(), sent);
    this.#handOver.decided(agent);
    this.steps.ended('observe');
  }

  /** True: a target is to be sent for what the agent decided. */
  #decide(agent: Agent, observation: Observation, epoch: number, now: Millis): boolean {
    let sent = false;
    try {
      const decision = this.#core.decide(agent, observation, now);
      if (agent.reward !== null) this.rewards.record(agent.reward);
      for (const change of agent.transitions) this.#outbox.changed(agent.fn, change);
      sent = !this.paused && !agent.paused;
      if (sent) this.#send(agent, observation, decision, epoch);
    } catch (error) {
      this.counts.failedDecisions++;
      const { name: manager } = agent.manager;
      const fields = { function: agent.fn, manager, error: messageOf(error) };
      this.#log.error(`decision ${manager}`, now, fields, 'decision failed: no target sent');
    }
    return sent;
  }

  #send(agent: Agent, observation: Observation, decision: Decision, epoch: number): void {
    const { random, reportShare = 1 } = this.#run;
    const bounded = withinBounds(decision, this.#owners.of(agent.fn)?.bounds);
    const target = this.#core.target(agent, bounded, observation, epoch);
    if (this.#outbox.target(target)) this.counts.targets++;
    if (random.next() < reportShare) this.#outbox.report(agent, bounded, target);
  }

  #agentOf(fn: string): Agent {
    let agent = this.#agents.get(fn);
    if (!agent) {
      const { manager } = this.#run;
      agent = new Agent(fn, typeof manager === 'function' ? manager(fn) : manager);
      this.#handOver.loadState(agent);
      this.#agents.set(fn, agent);
    }
    return agent;
  }

  /** Another host has the function; if that one saves nothing, the agent continues from here. */
  #suspend(fn: string): void {
    const agent = this.#agents.peek(fn);
    if (agent === undefined) return;
    this.#handOver.saveState(agent);
    this.#agents.delete(fn);
  }

  #publishPartial(): void {
    const { broker, clock, host, heartbeat } = this.#run;
    const now = clock.monotonic();
    heartbeat?.();
    this.steps.begin();
    const owned = [...this.#agents.values()].filter(({ fn }) => this.#shards.epochOf(fn) !== null);
    const partial = this.#core.partial(owned, now);
    broker.publish(subjects.agentsPartial(host), encodeMessage(partial));
    this.steps.ended('publish');
  }
}
